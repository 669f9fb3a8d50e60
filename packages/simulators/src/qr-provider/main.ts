// The command `qr-provider`: runs the reference provider, prints its ledger and its test amounts.
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { defined } from '@switchyard/contract';
import { exitWhenStdoutIsClosed } from '../closed-stdout.ts';
import { EXIT_FAILED, parseWholeNumber, reportError, UsageError } from '../usage-error.ts';
import { faultModes, isFaultMode } from './fault-modes.ts';
import { formatQrLedger, readQrLedger } from './payment-ledger.ts';
import { type QrProviderOptions, setQrProviderDown, startQrProvider } from './server.ts';
import { paymentScripts, refundScripts } from './test-amounts.ts';

const usage = `qr-provider: a simulated provider of QR payments

  qr-provider serve --data DIR (--platform FILE | --for-check) [--host ADDRESS] [--port N]
                    [--path PREFIX] [--display TYPE] [--step-ms N] [--late-ms N]
                    [--retry-ms N] [--broken MODE]
      Runs until SIGINT or SIGTERM.
      --data       directory of the payments
      --platform   JSON: signingSecrets, baseUrl, tokenUrl, clientId, clientSecret, caFile;
                   the file can be created after the start; the provider reads it after each change
      --for-check  for "switchyard provider conformance", instead of --platform: the provider uses its
                   own secret (DIR/signing-secret), and sends events to the URL in each call
      --host       address to listen on             (127.0.0.1)
      --port       port to listen on, 0 for any     (8585)
      --path       prefix of the paths of the interface
      --display    image/png, image/svg+xml, text/emvqr or url (image/png)
      --step-ms    time between two status changes of a payment, in milliseconds (1000)
      --late-ms    delay of the answers to test amounts with a late answer, in milliseconds (12000)
      --retry-ms   time between two attempts to send an event, in milliseconds
                   (1, 2, 5, 10 and 30 minutes)
      --broken     one of the fault modes that "qr-provider faults" lists

  qr-provider ledger --data DIR [--last N] [--json]
      Prints the ledger, also while the provider runs.

  qr-provider down --data DIR      rejects all payments from now on
  qr-provider up --data DIR        accepts payments again
  qr-provider outcomes             lists the test amounts
  qr-provider faults               lists the fault modes

Exit codes: 0 done, 1 failed, or the totals of the ledger do not agree, 2 wrong usage.
`;

const options = {
  data: { type: 'string' },
  platform: { type: 'string' },
  'for-check': { type: 'boolean', default: false },
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '8585' },
  path: { type: 'string', default: '' },
  display: { type: 'string', default: 'image/png' },
  'step-ms': { type: 'string', default: '1000' },
  'late-ms': { type: 'string', default: '12000' },
  'retry-ms': { type: 'string' },
  broken: { type: 'string' },
  last: { type: 'string', default: '50' },
  json: { type: 'boolean', default: false },
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

const displays = ['image/png', 'image/svg+xml', 'text/emvqr', 'url'] as const;
const dayMs = 86_400_000;

function platformOf({ platform, 'for-check': isCheck }: Values): QrProviderOptions['platform'] {
  if ((platform === undefined) === !isCheck)
    throw new UsageError('use either --platform or --for-check');
  return platform === undefined ? 'check' : { file: platform };
}

function serverOptions(values: Values, dataDir: string) {
  const display = displays.find((each) => each === values.display);
  if (display === undefined) throw new UsageError(`--display is one of ${displays.join(', ')}`);
  const { broken, 'retry-ms': retry } = values;
  if (broken !== undefined && !isFaultMode(broken)) {
    throw new UsageError('--broken is none of the fault modes that "qr-provider faults" lists');
  }
  return {
    dataDir,
    display,
    host: values.host,
    path: values.path,
    platform: platformOf(values),
    port: parseWholeNumber(values.port, 'port', 65_535),
    stepMs: parseWholeNumber(values['step-ms'], 'step-ms', dayMs),
    lateMs: parseWholeNumber(values['late-ms'], 'late-ms', dayMs),
    ...defined({
      retryMs: retry === undefined ? undefined : [parseWholeNumber(retry, 'retry-ms', dayMs)],
      broken,
    }),
    warn: (message: string) => process.stderr.write(`${message}\n`),
  } as const;
}

async function serve(values: Values, dataDir: string): Promise<void> {
  const provider = await startQrProvider(serverOptions(values, dataDir));
  // A test may send SIGTERM as soon as it reads the next line, so the handlers exist before it.
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  process.stdout.write(`listening on ${provider.url}\n`);
  await stopped;
  await provider.stop();
}

function printLedger(values: Values, dataDir: string): void {
  const report = readQrLedger(dataDir);
  const last = parseWholeNumber(values.last, 'last', 100_000);
  process.stdout.write(
    values.json ? `${JSON.stringify(report, undefined, 2)}\n` : formatQrLedger(report, last),
  );
  if (report.faults.length > 0) process.exitCode = EXIT_FAILED;
}

function printOutcomes(): void {
  const lines = (title: string, scripts: Record<number, { description: string }>) => [
    title,
    ...Object.entries(scripts).map(([amount, { description }]) => `  ${amount}  ${description}`),
  ];
  const payments = lines('last four digits of a payment', paymentScripts);
  const refunds = lines('last four digits of a refund', refundScripts);
  process.stdout.write(`${[...payments, '', ...refunds].join('\n')}\n`);
}

async function runOn(command: string, values: Values, dataDir: string): Promise<void> {
  if (command === 'serve') return serve(values, dataDir);
  if (command === 'ledger') return printLedger(values, dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  setQrProviderDown(dataDir, command === 'down');
}

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  const [command = '', ...rest] = positionals;
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  if (rest.length > 0) throw new UsageError(`unexpected: ${rest.join(' ')}`);
  if (command === 'outcomes') return printOutcomes();
  if (command === 'faults') {
    process.stdout.write(`${faultModes.join('\n')}\n`);
    return;
  }
  if (!['serve', 'ledger', 'down', 'up'].includes(command)) {
    throw new UsageError('use one of the commands serve, ledger, down, up, outcomes, faults');
  }
  if (values.data === undefined) throw new UsageError('--data is missing');
  await runOn(command, values, values.data);
}

exitWhenStdoutIsClosed();
try {
  await run(process.argv.slice(2));
} catch (error) {
  reportError('qr-provider', usage, error);
}
