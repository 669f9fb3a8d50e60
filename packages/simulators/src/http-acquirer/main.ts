// The command `http-acquirer` runs the reference acquirer. `acquirer-host ledger` reads its ledger.
import { parseArgs } from 'node:util';
import { defined } from '@switchyard/contract';
import { exitWhenStdoutIsClosed } from '../closed-stdout.ts';
import { readTlsFiles, tlsFileOptions, tlsFileUsage } from '../tls-files.ts';
import { parseWholeNumber, reportError, UsageError } from '../usage-error.ts';
import { loadSigningKey } from './message-signatures.ts';
import { startHttpAcquirer } from './server.ts';

const usage = `http-acquirer: a reference acquirer that speaks the HTTP/JSON acquirer SPI

  http-acquirer key --data DIR
      Prints the public key for the acquirer link; creates the key if it does not exist.

  http-acquirer serve --data DIR --platform-key X [--platform-key X] [--host ADDRESS] [--port N]
                      [--path PREFIX] [--late-ms N] [--slow-ms N]
      Runs until SIGINT or SIGTERM.
      --data          directory of the ledger and the signing key
      --platform-key  public Ed25519 key of the platform (the x of its JWK); can be repeated
      --host          address to listen on             (127.0.0.1)
      --port          port to listen on, 0 for any     (8584)
      --path          prefix of the paths of the SPI
      --late-ms       delay of the answer to test amount 9092 (35000)
      --slow-ms       delay of the answer to test amount 9098 (8000)
${tlsFileUsage}

Exit codes: 0 done, 1 failed, 2 wrong usage.
`;

const options = {
  data: { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '8584' },
  path: { type: 'string', default: '' },
  'platform-key': { type: 'string', multiple: true, default: [] as string[] },
  'late-ms': { type: 'string', default: '35000' },
  'slow-ms': { type: 'string', default: '8000' },
  ...tlsFileOptions,
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const keyPattern = /^[A-Za-z0-9_-]{43}$/;

/** One key in 64 begins with a dash; joined to its option, the parser does not read it as another option. */
function joinKeyOptions(args: readonly string[]): string[] {
  const isKey = (at: number) =>
    args[at - 1] === '--platform-key' && keyPattern.test(args[at] ?? '');
  return args.flatMap((arg, at) => {
    if (isKey(at + 1)) return [];
    return [isKey(at) ? `--platform-key=${arg}` : arg];
  });
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: joinKeyOptions(args), options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

type Values = ReturnType<typeof parse>['values'];

async function serve(values: Values, ledgerDir: string): Promise<void> {
  const platformKeys = values['platform-key'];
  if (platformKeys.length === 0) throw new UsageError('--platform-key is missing');
  if (!platformKeys.every((x) => keyPattern.test(x))) {
    throw new UsageError('--platform-key is the x of an Ed25519 key, 43 characters');
  }
  const tls = readTlsFiles(values);
  const acquirer = await startHttpAcquirer({
    host: values.host,
    port: parseWholeNumber(values.port, 'port', 65_535),
    path: values.path,
    ledgerDir,
    platformKeys,
    lateMs: parseWholeNumber(values['late-ms'], 'late-ms', 86_400_000),
    slowMs: parseWholeNumber(values['slow-ms'], 'slow-ms', 86_400_000),
    ...defined({ tls }),
  });
  // A test may send SIGTERM as soon as it reads the next line, so the handlers exist before it.
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  const scheme = tls === undefined ? 'http' : 'https';
  process.stdout.write(`listening on ${scheme}://${values.host}:${acquirer.port}${values.path}\n`);
  process.stdout.write(`public key ${acquirer.publicKey}\n`);
  await stopped;
  await acquirer.stop();
}

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  const [command, ...rest] = positionals;
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  if (rest.length > 0) throw new UsageError(`unexpected: ${rest.join(' ')}`);
  if (command !== 'serve' && command !== 'key')
    throw new UsageError('use one of the commands serve, key');
  if (values.data === undefined) throw new UsageError('--data is missing');
  if (command === 'key') process.stdout.write(`${loadSigningKey(values.data).x}\n`);
  else await serve(values, values.data);
}

exitWhenStdoutIsClosed();
try {
  await run(process.argv.slice(2));
} catch (error) {
  reportError('http-acquirer', usage, error);
}
