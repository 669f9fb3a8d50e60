// `npm run vault`: lists and replaces the keys of stored cards, and lists the accesses to card numbers.
import { parseArgs } from 'node:util';
import { ProblemError } from '../packages/contract/src/index.ts';
import type { VaultCommand } from './vault/vault-commands.ts';

const exitCodes = { done: 0, failed: 1, wrongUsage: 2 };
const listedMax = 10_000;

const usage = `npm run vault -- status [--organization ID] [--json]
    Lists the keys of stored cards, the wrapping key of each, and running re-encryptions.

npm run vault -- rotate-keys --organization ID | --all [--json]
    Replaces the key of an organisation, or of all. New cards are encrypted under the new key
    at once. A job re-encrypts the other cards; they stay readable during this.

npm run vault -- accesses --organization ID [--from TIME] [--to TIME] [--limit N] [--json]
    Lists the accesses to card numbers, with the client, purpose and result of each; oldest first, of
    the last day by default. Times as in 2026-03-01T00:00:00Z.

npm run vault -- make-key
    Creates the key of the settings in the PKCS#11 module: SWITCHYARD_VAULT_PKCS11_MODULE, _TOKEN, _KEY, _PIN.

The command reads the settings of the platform (SWITCHYARD_…); make-key reads no keys. It can run beside the platform.
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
  if (organization === undefined) throw new UsageFault('accesses needs --organization');
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
    const { runVaultCommand } = await import('./vault/vault-commands.ts');
    await runVaultCommand(vaultCommand);
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
