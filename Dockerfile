# One image for every part of docker-compose.yml; the commands there say which part it plays.
#
# Base images are named by tag and digest: the tag is for people, the digest says which bytes. Build
# arguments, or docker-compose.yml's variables, replace them.
ARG MAVEN_IMAGE=maven:3.9.9-eclipse-temurin-17@sha256:f58d59b6273e785ac0a4477f6e9b5ba1d7731c75b906c0f7b34076f1851318cc
ARG JAVA_IMAGE=eclipse-temurin:17.0.19_10-jre-jammy@sha256:475d8e96b4b2bfe08999e5e854755c773af1581acdf959a4545d88f0696a2339
ARG PYTHON_IMAGE=python:3.11.11-slim-bookworm@sha256:081075da77b2b55c23c088251026fb69a7b2bf92471e491ff5fd75c192fd38e5

FROM ${MAVEN_IMAGE} AS jars
WORKDIR /build
COPY guard guard
RUN mvn --quiet --file guard/pom.xml package \
 && mvn --quiet dependency:copy -Dartifact=org.postgresql:postgresql:42.7.4 -DoutputDirectory=/jars \
 && echo "188976721ead8e8627eb6d8389d500dccc0c9bebd885268a3047180274a6031e  /jars/postgresql-42.7.4.jar" \
    | sha256sum --check --quiet \
 && cp guard/target/causeway-guard.jar /jars/

FROM ${JAVA_IMAGE} AS java

FROM ${PYTHON_IMAGE}
ENV JAVA_HOME=/opt/java PATH=/opt/java/bin:/opt/causeway/.venv/bin:$PATH
COPY --from=java /opt/java/openjdk /opt/java
RUN apt-get update && apt-get install --yes --no-install-recommends make procps \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/causeway
COPY Makefile pyproject.toml setup.py requirements.lock README.md ./
COPY requirements requirements
COPY docs/reference/causeway.1 docs/reference/causeway.1
COPY bench bench
COPY cli cli
COPY conf conf
COPY dialect dialect
COPY metastore metastore
COPY pipeline pipeline
COPY proxy proxy
COPY router router
COPY database database
COPY telemetry telemetry
COPY advice advice
COPY console console
COPY saslauth saslauth
COPY thriftcodec thriftcodec
RUN make install \
 && ln -s "$(python -c 'import pyspark; print(pyspark.__path__[0])')" /opt/spark
COPY --from=jars /jars /opt/jars
RUN install -D /opt/jars/causeway-guard.jar guard/target/causeway-guard.jar
ENV SPARK_HOME=/opt/spark
# Nothing runs as root, and what runs owns its home and these folders alone. A volume that is mounted at
# one of them for the first time takes its owner from here.
RUN useradd --uid 10001 --user-group --create-home causeway \
 && install --directory --owner causeway --group causeway /warehouse /secrets /state
USER causeway
WORKDIR /home/causeway
