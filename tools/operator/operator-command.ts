// `npm run operator`: creates the operator of an empty platform, once; the operator approves sign-ups.
import { parseArgs } from 'node:util';
import { ProblemError } from '../../packages/contract/src/index.ts';
import type { OperatorAccount, OperatorOptions } from './create-operator.ts';

const exitCodes = { done: 0, failed: 1, wrongUsage: 2 };

const usage = `npm run operator -- create [--name NAME] [--domain DOMAIN] [--administrator MAIL] [--json]
    Makes the operator's organisation, its user domain, and an application that approves sign-ups,
    and prints the secret of it. Done once: a platform has one operator.
    --name            of the organisation (Platform)
    --domain          the user domain (operator)
    --administrator   invites a first person by mail, as Administrator of that organisation

npm run operator -- rotate-secret [--json]
    Gives that application a new secret; the old one is dead at once.

Reads the settings of the platform (SWITCHYARD_…), and may run before its first start or beside it.
The secret is printed to standard output, and kept nowhere but as a hash.
Exit codes: 0 done, 1 failed, 2 wrong usage. More: docs/how-to/run-in-production.md
`;

class UsageError extends Error {}

const flags = {
  name: { type: 'string', default: 'Platform' },
  domain: { type: 'string', default: 'operator' },
  administrator: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const domainPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const mailPattern = /^[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,190}$/;
const namePattern = /^[^\p{Cc}]{1,100}$/u;

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readOptions(args: string[]): (OperatorOptions & { json: boolean }) | undefined {
  const { values, positionals } = parse(args);
  const { name, domain, administrator, json, help } = values;
  if (help) return undefined;
  const [command, ...rest] = positionals;
  if (command !== 'create' && command !== 'rotate-secret') {
    throw new UsageError('create or rotate-secret?');
  }
  if (rest.length > 0) throw new UsageError(`unexpected: ${rest.join(' ')}`);
  if (!namePattern.test(name)) throw new UsageError('--name has 1 to 100 characters');
  if (!domainPattern.test(domain)) throw new UsageError('--domain has small letters, digits and -');
  if (administrator !== undefined && !mailPattern.test(administrator)) {
    throw new UsageError('--administrator is a mail address');
  }
  return { command, name, domain, administrator, json };
}

function print(account: OperatorAccount, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(account)}\n`);
    return;
  }
  for (const [member, value] of Object.entries(account)) {
    process.stdout.write(`${member.padEnd(16)}${value}\n`);
  }
  process.stderr.write('Keep the secret now: it is shown this once.\n');
}

/** Loads the code of the platform only for a valid command, because loading is slow. */
async function runCommand(options: OperatorOptions): Promise<OperatorAccount> {
  const {
    createOperator: createSeat,
    rotateOperatorSecret: renewSeat,
    withOpenPlatform: withPlatform,
  } = await import('./create-operator.ts');
  return withPlatform((openPlatform) =>
    options.command === 'create' ? createSeat(openPlatform, options) : renewSeat(openPlatform),
  );
}

async function main(args: string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === undefined) process.stdout.write(usage);
    else print(await runCommand(options), options.json);
    return exitCodes.done;
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`operator: ${error.message}\n\n${usage}`);
      return exitCodes.wrongUsage;
    }
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`operator: ${error instanceof ProblemError ? error.detail : message}\n`);
    return exitCodes.failed;
  }
}

process.exitCode = await main(process.argv.slice(2));
