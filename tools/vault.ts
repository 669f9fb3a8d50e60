// `npm run vault`: looks at the keys of stored cards, replaces them, and tells who had a card opened.
import { parseArgs } from 'node:util';
import { ProblemError } from '../packages/contract/src/index.ts';
import type { VaultCommand } from './vault/vault-commands.ts';

const exitCodes = { done: 0, failed: 1, wrongUsage: 2 };
const listedMax = 10_000;

const usage = `npm run vault -- status [--organization ID] [--json]
    Lists the keys of stored cards, what has wrapped them, and rounds under way.

npm run vault -- rotate-keys --organization ID | --all [--json]
    Replaces the key of an organisation, or of all. New cards are sealed under a new one at once, and a
    job seals the others anew; they stay readable meanwhile.

npm run vault -- accesses --organization ID [--from TIME] [--to TIME] [--limit N] [--json]
    Tells who had a card opened, what for and with what result; oldest first, of the last day if
    nothing is said. Times as in 2026-03-01T00:00:00Z.

npm run vault -- make-key
    Makes the key of the settings in its PKCS#11 module: SWITCHYARD_VAULT_PKCS11_MODULE, _TOKEN, _KEY, _PIN.

Reads the settings of the platform (SWITCHYARD_…), but for make-key no keys of it, and may run beside it.
Exit codes: 0 done, 1 failed, 2 wrong usage. More: docs/how-to/manage-card-keys.md
`;

class UsageFault extends Error {}

const flags = {
  organization: { type: 'string' },
  all: { type: 'boolean', default: false },
  from: { type: 'string' },
  to: { type: 'string' },
  limit: { type: 'string', default: '1000' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const dayMs = 86_400_000;

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageFault(error instanceof Error ? error.message : String(error));
  }
}

function timeOf(text: string | undefined, name: string, missing: number): number {
  if (text === undefined) return missing;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageFault(`${name} is no time: 2026-03-01T00:00:00Z is one`);
  return time;
}

function readWanted(args: string[], now: number): VaultCommand | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [command, ...rest] = positionals;
  const { organization, all, json } = values;
  if (command === 'make-key' && rest.length === 0) return { command, json };
  if (command !== 'status' && command !== 'rotate-keys' && command !== 'accesses') {
    throw new UsageFault('status, rotate-keys, accesses or make-key?');
  }
  if (rest.length > 0) throw new UsageFault(`unexpected: ${rest.join(' ')}`);
  if (organization !== undefined && !uuid.test(organization)) {
    throw new UsageFault('--organization takes the identifier of one');
  }
  if (all && command !== 'rotate-keys') throw new UsageFault('--all is for rotate-keys');
  if (command === 'rotate-keys' && all === (organization !== undefined)) {
    throw new UsageFault('either --organization or --all');
  }
  if (command === 'status' || command === 'rotate-keys') return { command, organization, json };
  if (organization === undefined) throw new UsageFault('whose accesses? --organization tells');
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > listedMax) {
    throw new UsageFault(`--limit takes 1 to ${listedMax}`);
  }
  const to = timeOf(values.to, '--to', now);
  return {
    command,
    organization,
    from: timeOf(values.from, '--from', to - dayMs),
    to,
    limit,
    json,
  };
}

async function main(args: string[]): Promise<number> {
  try {
    const vaultCommand = readWanted(args, Date.now());
    if (vaultCommand === undefined) {
      process.stdout.write(usage);
      return exitCodes.done;
    }
    // Loaded only then: who mistyped a word need not wait for the platform's code.
    const { runVaultCommand: doWork } = await import('./vault/vault-commands.ts');
    await doWork(vaultCommand);
    return exitCodes.done;
  } catch (error) {
    if (error instanceof UsageFault) {
      process.stderr.write(`vault: ${error.message}\n\n${usage}`);
      return exitCodes.wrongUsage;
    }
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`vault: ${error instanceof ProblemError ? error.detail : message}\n`);
    return exitCodes.failed;
  }
}

process.exitCode = await main(process.argv.slice(2));
