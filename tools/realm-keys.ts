// `npm run realm-keys`: looks at the signing keys of a user domain and replaces them, beside a running platform.
import { parseArgs } from 'node:util';
import { ProblemError } from '../packages/contract/src/index.ts';
import type { RealmCommand } from './realm-keys/realm-key-commands.ts';

const exitCodes = { done: 0, failed: 1, wrongUsage: 2 };

const usage = `npm run realm-keys -- keys DOMAIN [--json]
    Lists the signing keys of a user domain that still sign or verify.

npm run realm-keys -- rotate-keys DOMAIN [--now] [--json]
    Publishes new signing keys. They sign after an hour, when caches of the key set have them; the
    old ones verify until the last token of theirs has expired.
    --now    for a stolen key: the new ones sign at once, and every token of the old ones is refused

Reads the settings of the platform (SWITCHYARD_…), and may run beside it.
Exit codes: 0 done, 1 failed, 2 wrong usage. More: docs/how-to/rotate-keys.md
`;

class UsageFault extends Error {}

const flags = {
  now: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageFault(error instanceof Error ? error.message : String(error));
  }
}

function readWanted(args: string[]): RealmCommand | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [command, domain, ...rest] = positionals;
  if (command !== 'keys' && command !== 'rotate-keys') {
    throw new UsageFault('the command must be keys or rotate-keys');
  }
  if (domain === undefined) throw new UsageFault('the user domain is missing');
  if (rest.length > 0) throw new UsageFault(`unexpected: ${rest.join(' ')}`);
  if (values.now && command === 'keys') throw new UsageFault('--now is for rotate-keys');
  return { command, domain, now: values.now, json: values.json };
}

/** Loaded only then: who mistyped a word need not wait for the platform's code. */
async function doWork(realmCommand: RealmCommand): Promise<void> {
  const { runRealmCommand, withIdentity } = await import('./realm-keys/realm-key-commands.ts');
  await withIdentity((identity) => runRealmCommand(identity, realmCommand));
}

async function main(args: string[]): Promise<number> {
  try {
    const realmCommand = readWanted(args);
    if (realmCommand === undefined) process.stdout.write(usage);
    else await doWork(realmCommand);
    return exitCodes.done;
  } catch (error) {
    if (error instanceof UsageFault) {
      process.stderr.write(`realm-keys: ${error.message}\n\n${usage}`);
      return exitCodes.wrongUsage;
    }
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`realm-keys: ${error instanceof ProblemError ? error.detail : message}\n`);
    return exitCodes.failed;
  }
}

process.exitCode = await main(process.argv.slice(2));
