// Brings a chain of shops in by the bulk import, and the same rows once more by `pg` alone.
import pg from 'pg';
import {
  createLog,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import { migrations } from '../environment/platform.ts';
import { terminalModel } from '../environment/provision-in-database.ts';
import { sendRequest } from '../environment/send-single-request.ts';
import { readCpu } from '../report/process-times.ts';
import { perSecond } from '../report/report-table.ts';
import { costBetween, type PrintLine, type StepCost } from '../sales/measured-step.ts';
import type { EstateEnvironment } from './estate-environment.ts';
import { devicesPerMerchant, devicesPerStore } from './estate-plan.ts';

/** What one run of the import has brought in; a device is a place with the hardware that fills it. */
export type ImportRun = { lines: number; devices: number; seconds: number; failed: string[] };

export type ImportFigures = {
  runs: ImportRun[];
  /** CPU time of a line, µs. */
  cpuUs: StepCost['cpuUs'];
  linesPerSecond: number;
  devicesPerSecond: number;
  bareRowsPerSecond: number;
};

/** In one request; each device is two lines, and its merchant and store are lines too. */
const devicesInRequest = 4500;
const requests = 3;
const rowsInStatement = 500;
const path = '/provisioning/v2/bulk';

const line = (type: string, data: object) => JSON.stringify({ type, operation: 'upsert', data });

/** Merchants, stores and devices in an order in which each finds what is above it. */
function importLines(from: number, devices: number): string[] {
  const lines: string[] = [];
  for (let number = from; number < from + devices; number += 1) {
    const merchant = `IM-${Math.floor(number / devicesPerMerchant)}`;
    const store = `IS-${Math.floor(number / devicesPerStore)}`;
    if (number === from || number % devicesPerMerchant === 0) {
      const location = { country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
      lines.push(
        line('merchant', { externalId: merchant, name: `Merchant ${merchant}`, ...location }),
      );
    }
    if (number === from || number % devicesPerStore === 0) {
      const above = { merchantExternalId: merchant };
      lines.push(line('store', { externalId: store, name: `Store ${store}`, ...above }));
    }
    const device = `ID-${number}`;
    const serialNumber = `9${String(number).padStart(9, '0')}`;
    lines.push(
      line('logicalDevice', { externalId: device, name: `Till ${number}`, storeExternalId: store }),
      line('physicalDevice', {
        externalId: `IP-${number}`,
        serialNumber,
        ...terminalModel,
        logicalDeviceExternalId: device,
      }),
    );
  }
  return lines;
}

async function importOnce({ server, empty }: EstateEnvironment, from: number): Promise<ImportRun> {
  const lines = importLines(from, devicesInRequest);
  const body = `${lines.join('\n')}\n`;
  const request = { method: 'POST', path, contentType: 'application/jsonl', body } as const;
  const began = performance.now();
  const { status, text } = await sendRequest(server.target, { ...request, token: empty.token });
  if (status !== 200) throw new Error(`the import was refused: ${status} ${text}`);
  const seconds = (performance.now() - began) / 1000;
  const answers = text
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each) as { status?: string });
  const failed = answers
    .filter(({ status }) => status === 'failed')
    .map((each) => JSON.stringify(each));
  const created = answers.filter(({ status }) => status === 'created').length;
  if (created !== lines.length && failed.length === 0) {
    failed.push(`${created} of ${lines.length} lines were created`);
  }
  return { lines: lines.length, devices: devicesInRequest, seconds, failed };
}

/** The rows that the import has made, in the order in which they can be made again. */
const tables = ['organizations', 'merchants', 'stores', 'logical_devices', 'physical_devices'];

async function bareInserts({ platform, empty }: EstateEnvironment): Promise<number> {
  const url = platform.baselineUrl;
  const log = createLog({ logLevel: 'silent', instanceName: 'bench' });
  const baselineDatabase = openDatabase({ url, log });
  await migrate(baselineDatabase, migrations, { log, clock: systemClock, ids: systemIdGenerator });
  await baselineDatabase.close();
  const chunks: { text: string; rows: string }[] = [];
  let rows = 0;
  for (const table of tables) {
    const made = await platform.database.query<{ row: object }>(
      `SELECT to_jsonb(t) AS row FROM ${table} t WHERE organization_id = $1`,
      [empty.organizationId],
    );
    rows += made.length;
    const text = `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(null::${table}, $1::jsonb)`;
    for (let at = 0; at < made.length; at += rowsInStatement) {
      const part = made.slice(at, at + rowsInStatement).map(({ row }) => row);
      chunks.push({ text, rows: JSON.stringify(part) });
    }
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const began = performance.now();
    for (const chunk of chunks) await client.query(chunk.text, [chunk.rows]);
    return (rows * 1000) / (performance.now() - began);
  } finally {
    await client.end();
  }
}

export async function benchImport(
  environment: EstateEnvironment,
  printLine: PrintLine,
): Promise<ImportFigures> {
  const runs: ImportRun[] = [];
  const cpu = () =>
    readCpu({ server: environment.server.pid, postgres: environment.platform.postgresPid });
  const before = cpu();
  for (let at = 0; at < requests; at += 1) {
    const run = await importOnce(environment, at * devicesInRequest);
    runs.push(run);
    const faults = run.failed.length === 0 ? '' : `  ${run.failed.length} failed: ${run.failed[0]}`;
    printLine(`import of ${run.lines} lines  ${perSecond(run.lines / run.seconds)}${faults}`);
  }
  const seconds = runs.reduce((sum, run) => sum + run.seconds, 0);
  const sum = (pick: (run: ImportRun) => number) => runs.reduce((all, run) => all + pick(run), 0);
  const lines = sum((run) => run.lines);
  const { cpuUs } = costBetween({ cpu: before, answered: 0 }, { cpu: cpu(), answered: lines });
  const bareRowsPerSecond = await bareInserts(environment);
  printLine(`the same rows by pg alone  ${perSecond(bareRowsPerSecond)}`);
  return {
    runs,
    cpuUs,
    linesPerSecond: lines / seconds,
    devicesPerSecond: sum(({ devices }) => devices) / seconds,
    bareRowsPerSecond,
  };
}

/** One request more, for the profile. */
export async function importOnceMore(
  environment: EstateEnvironment,
): Promise<{ answered: number }> {
  const { lines } = await importOnce(environment, requests * devicesInRequest);
  return { answered: lines };
}
