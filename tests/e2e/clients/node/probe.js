// Asks the same things of several HiveServer2 endpoints through hive-driver and prints what each
// said: probe.js STATEMENTS.json CA.pem NAME=WAY,HOST:PORT ..., WAY is binary, http, tls or https.
const fs = require("fs");
const hive = require("hive-driver");

const { TCLIService, TCLIService_types: types } = hive.thrift;
const utils = new hive.HiveUtils(types);

async function rows(operation) {
  try {
    await utils.waitUntilReady(operation, true, () => {});
    await utils.fetchAll(operation);
    return JSON.stringify(utils.getResult(operation).getValue(), (_, value) =>
      typeof value === "number" && !Number.isFinite(value) ? String(value) : value
    );
  } finally {
    await operation.close();
  }
}

async function said(asked) {
  try {
    return await rows(await asked());
  } catch (error) {
    const response = error.response || {};
    return JSON.stringify([error.name, error.message, response.sqlState, response.errorMessage]);
  }
}

async function probe(statements, ca, way, host, port) {
  const web = way.startsWith("http");
  const options = { username: "ann", password: "secret" };
  if (web) options.path = "/cliservice";
  if (way === "tls") Object.assign(options, { ssl: true, ca });
  if (way === "https") Object.assign(options, { https: true, ca });
  const connection = web ? new hive.connections.HttpConnection() : new hive.connections.TcpConnection();
  const credentials = { username: "ann", password: "secret" };
  const auth = web
    ? new hive.auth.PlainHttpAuthentication(credentials)
    : new hive.auth.PlainTcpAuthentication(credentials);
  const client = new hive.HiveClient(TCLIService, types);
  client.on("error", (error) => console.error(String(error)));
  await client.connect({ host, port, options }, connection, auth);
  const session = await client.openSession({
    client_protocol: types.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V10,
  });
  for (const sql of statements) {
    console.log(`${JSON.stringify(sql)}: ${await said(() => session.executeStatement(sql, { runAsync: true }))}`);
  }
  console.log(`version: ${(await session.getInfo(types.TGetInfoType.CLI_DBMS_VER)).getValue()}`);
  const schemaName = "clients";
  console.log(`types: ${await said(() => session.getTypeInfo())}`);
  console.log(`schemas: ${await said(() => session.getSchemas({ schemaName }))}`);
  console.log(`tables: ${await said(() => session.getTables({ schemaName, tableName: "%" }))}`);
  console.log(`columns: ${await said(() => session.getColumns({ schemaName, tableName: "types" }))}`);
  console.log(`functions: ${await said(() => session.getFunctions({ functionName: "abs" }))}`);
  await session.close();
}

async function main([, , statements, ca, ...words]) {
  for (const word of words) {
    const [name, rest] = word.split("=");
    const [way, address] = rest.split(",");
    const [host, port] = address.split(":");
    console.log(`== ${name}`);
    await probe(JSON.parse(fs.readFileSync(statements)), fs.readFileSync(ca), way, host, Number(port));
  }
}

main(process.argv).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
