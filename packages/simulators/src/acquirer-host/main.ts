// The command `acquirer-host`: `serve` runs the host, `ledger` prints its ledger.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { defined } from '@switchyard/contract';
import { builtInHosts, type HostTable, readHostTable } from '@switchyard/iso8583';
import { exitWhenStdoutIsClosed } from '../closed-stdout.ts';
import { readTlsFiles, tlsFileOptions, tlsFileUsage } from '../tls-files.ts';
import {
  EXIT_FAILED,
  FileError,
  parseWholeNumber,
  reportError,
  UsageError,
} from '../usage-error.ts';
import type { HostKey, HostKeys } from './connection/exchange-keys.ts';
import { parseResponseChanges } from './decisions/change-response.ts';
import { formatLedger } from './ledger/format-ledger.ts';
import { readLedger } from './ledger/read-ledger.ts';
import { startAcquirerHost } from './server.ts';

const usage = `acquirer-host: a simulated acquirer that speaks ISO 8583 over TCP or TLS

  acquirer-host serve --data DIR [--host ADDRESS] [--port N] [--late-ms N] [--slow-ms N]
      Runs until SIGINT or SIGTERM.
      --data      directory of the ledger
      --host      address to listen on             (127.0.0.1)
      --port      port to listen on, 0 for any     (8583)
      --late-ms   delay of the answer to test amount 9092 (35000)
      --slow-ms   delay of the answer to test amount 9098 (8000)
      --answer-ms delay of every other answer      (0)
      --over-capture
                  by how many percent of the approved amount captures can
                  exceed it, 0 to 100            (0: it declines them with 61)
      --segment   maximum number of entries of one ledger file; the host holds the last two
                  files in memory              (10000)
      --dialect   host table: ${Object.keys(builtInHosts).join(', ')},
                  or a file with a host table      (iso1987-binary)
      --responses how responses differ from the request: omit=FIELDS, shorten=FIELDS,
                  pad=FIELDS, assign=37 (own retrieval reference number), account-type;
                  for example omit=3+42,assign=37  (as the host table allows)
      --zone-pin-key, --mac-key, --zone-master-key
                  keys that the platform also has, as tdes:HEX or aes:HEX. All users of
                  the machine can read these arguments: use --keys instead
      --keys      JSON file with these keys: {"zone-pin-key": "tdes:…"}
${tlsFileUsage}

  acquirer-host ledger --data DIR [--last N] [--json]
      Prints the ledger, also while the host runs.
      --last      number of latest transactions, without reversals, to list (50)
      --json      the whole ledger as JSON; amounts in minor units

Exit codes: 0 done, 1 failed, or the totals of the ledger do not agree, 2 wrong usage.
`;

const options = {
  data: { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '8583' },
  'late-ms': { type: 'string', default: '35000' },
  'slow-ms': { type: 'string', default: '8000' },
  'answer-ms': { type: 'string', default: '0' },
  'over-capture': { type: 'string', default: '0' },
  segment: { type: 'string', default: '10000' },
  dialect: { type: 'string', default: 'iso1987-binary' },
  responses: { type: 'string' },
  'zone-pin-key': { type: 'string' },
  'mac-key': { type: 'string' },
  'zone-master-key': { type: 'string' },
  keys: { type: 'string' },
  last: { type: 'string', default: '50' },
  json: { type: 'boolean', default: false },
  ...tlsFileOptions,
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function parse(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

type Values = ReturnType<typeof parse>['values'];

/** A built-in host table, or one from a file. */
function readTable(name: string): HostTable {
  if (name in builtInHosts) return builtInHosts[name as keyof typeof builtInHosts];
  let text: string;
  try {
    text = readFileSync(name, 'utf8');
  } catch {
    throw new FileError(`--dialect: ${name} is neither built in nor a file that can be read`);
  }
  try {
    return readHostTable(JSON.parse(text));
  } catch (error) {
    throw new FileError(
      `${name}: ${error instanceof Error ? error.message : 'is not a host table'}`,
    );
  }
}

const keyPattern = /^(tdes|aes):((?:[0-9A-Fa-f]{32}|[0-9A-Fa-f]{48}|[0-9A-Fa-f]{64}))$/;

function parseKey(text: string, name: string): HostKey {
  const [, algorithm, key] = keyPattern.exec(text) ?? [];
  // The error message must not contain the key.
  if (key === undefined) throw new UsageError(`--${name} must be tdes:HEX or aes:HEX`);
  return { algorithm: algorithm === 'aes' ? 'Aes' : 'Tdes', key: Buffer.from(key, 'hex') };
}

type KeyTexts = Partial<Record<'zone-pin-key' | 'mac-key' | 'zone-master-key', string>>;

/** The keys in a file; an error message never contains the content of the file. */
function readKeysFile(file: string | undefined): KeyTexts {
  if (file === undefined) return {};
  try {
    const keys: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const { 'zone-pin-key': pin, 'mac-key': mac, 'zone-master-key': master } = keys as KeyTexts;
    return defined({
      'zone-pin-key': pin === undefined ? undefined : String(pin),
      'mac-key': mac === undefined ? undefined : String(mac),
      'zone-master-key': master === undefined ? undefined : String(master),
    });
  } catch {
    throw new FileError(`--keys: ${file} cannot be read as JSON`);
  }
}

function parseKeys(values: Values): HostKeys {
  const texts: KeyTexts = { ...readKeysFile(values.keys), ...values };
  const { 'zone-pin-key': pin, 'mac-key': mac, 'zone-master-key': master } = texts;
  return defined({
    zonePin: pin === undefined ? undefined : parseKey(pin, 'zone-pin-key'),
    mac: mac === undefined ? undefined : parseKey(mac, 'mac-key'),
    zoneMaster: master === undefined ? undefined : parseKey(master, 'zone-master-key'),
  });
}

function warningLine(facts: { err?: unknown }, message: string): string {
  return facts.err instanceof Error ? `${message}: ${facts.err.message}\n` : `${message}\n`;
}

async function serve(values: Values, ledgerDir: string): Promise<void> {
  const host = await startAcquirerHost({
    host: values.host,
    port: parseWholeNumber(values.port, 'port', 65_535),
    ledgerDir,
    lateMs: parseWholeNumber(values['late-ms'], 'late-ms', 86_400_000),
    slowMs: parseWholeNumber(values['slow-ms'], 'slow-ms', 86_400_000),
    answerMs: parseWholeNumber(values['answer-ms'], 'answer-ms', 86_400_000),
    overCapturePercent: parseWholeNumber(values['over-capture'], 'over-capture', 100),
    segmentEntries: Math.max(1, parseWholeNumber(values.segment, 'segment', 100_000_000)),
    dialect: readTable(values.dialect),
    keys: parseKeys(values),
    ...defined({
      responses:
        values.responses === undefined ? undefined : parseResponseChanges(values.responses),
    }),
    ...defined({ tls: readTlsFiles(values) }),
    log: { info() {}, warn: (facts, message) => process.stderr.write(warningLine(facts, message)) },
  });
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  // A test may send SIGTERM as soon as it reads this line, so the handlers exist already.
  process.stdout.write(`listening on ${values.host}:${host.port}\n`);
  await stopped;
  await host.stop();
}

function printLedger(values: Values, ledgerDir: string): void {
  const last = parseWholeNumber(values.last, 'last', 100_000);
  const report = readLedger(ledgerDir);
  process.stdout.write(
    values.json ? `${JSON.stringify(report, undefined, 2)}\n` : formatLedger(report, last),
  );
  if (report.faults.length > 0) process.exitCode = EXIT_FAILED;
}

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  const [command, ...rest] = positionals;
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  if (rest.length > 0) throw new UsageError(`unexpected: ${rest.join(' ')}`);
  if (command !== 'serve' && command !== 'ledger')
    throw new UsageError('use one of the commands serve, ledger');
  if (values.data === undefined) throw new UsageError('--data is missing');
  if (command === 'serve') await serve(values, values.data);
  else printLedger(values, values.data);
}

exitWhenStdoutIsClosed();
try {
  await run(process.argv.slice(2));
} catch (error) {
  reportError('acquirer-host', usage, error);
}
