# One image for every part of docker-compose.yml; the commands there say which part it plays.
FROM maven:3.9-eclipse-temurin-17 AS jars
WORKDIR /build
COPY guard guard
RUN mvn --quiet --file guard/pom.xml package \
 && mvn --quiet dependency:copy -Dartifact=org.postgresql:postgresql:42.7.4 -DoutputDirectory=/jars \
 && cp guard/target/causeway-guard.jar /jars/

FROM eclipse-temurin:17-jre AS java

FROM python:3.11-slim
ENV JAVA_HOME=/opt/java PATH=/opt/java/bin:/opt/causeway/.venv/bin:$PATH
COPY --from=java /opt/java/openjdk /opt/java
RUN apt-get update && apt-get install --yes --no-install-recommends make procps \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/causeway
COPY Makefile pyproject.toml requirements.lock README.md ./
COPY bench bench
COPY cli cli
COPY conf conf
COPY dialect dialect
COPY metastore metastore
COPY pipeline pipeline
COPY proxy proxy
COPY router router
RUN make install \
 && ln -s "$(python -c 'import pyspark; print(pyspark.__path__[0])')" /opt/spark
COPY --from=jars /jars /opt/jars
ENV SPARK_HOME=/opt/spark
