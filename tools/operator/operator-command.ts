// `npm run operator`: makes the operator of an empty platform, who approves sign-ups; once, and anywhere.
import { parseArgs } from 'node:util';
import { ProblemError } from '../../packages/contract/src/index.ts';
import type { Seat, Wanted } from './create-operator.ts';

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

class UsageFault extends Error {}

const flags = {
  name: { type: 'string', default: 'Platform' },
  domain: { type: 'string', default: 'operator' },
  administrator: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const domainForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const mailForm = /^[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,190}$/;
const nameForm = /^[^\p{Cc}]{1,100}$/u;

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageFault(error instanceof Error ? error.message : String(error));
  }
}

function readWanted(args: string[]): (Wanted & { json: boolean }) | undefined {
  const { values, positionals } = parse(args);
  const { name, domain, administrator, json, help } = values;
  if (help) return undefined;
  const [command, ...rest] = positionals;
  if (command !== 'create' && command !== 'rotate-secret') {
    throw new UsageFault('create or rotate-secret?');
  }
  if (rest.length > 0) throw new UsageFault(`unexpected: ${rest.join(' ')}`);
  if (!nameForm.test(name)) throw new UsageFault('--name has 1 to 100 characters');
  if (!domainForm.test(domain)) throw new UsageFault('--domain has small letters, digits and -');
  if (administrator !== undefined && !mailForm.test(administrator)) {
    throw new UsageFault('--administrator is a mail address');
  }
  return { command, name, domain, administrator, json };
}

function print(seat: Seat, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(seat)}\n`);
    return;
  }
  for (const [member, value] of Object.entries(seat)) {
    process.stdout.write(`${member.padEnd(16)}${value}\n`);
  }
  process.stderr.write('Keep the secret now: it is shown this once.\n');
}

/** Loaded only then: who mistyped a word need not wait for the platform's code. */
async function doWork(wanted: Wanted): Promise<Seat> {
  const { createSeat, renewSeat, withPlatform } = await import('./create-operator.ts');
  return withPlatform((open) =>
    wanted.command === 'create' ? createSeat(open, wanted) : renewSeat(open),
  );
}

async function main(args: string[]): Promise<number> {
  try {
    const wanted = readWanted(args);
    if (wanted === undefined) process.stdout.write(usage);
    else print(await doWork(wanted), wanted.json);
    return exitCodes.done;
  } catch (error) {
    if (error instanceof UsageFault) {
      process.stderr.write(`operator: ${error.message}\n\n${usage}`);
      return exitCodes.wrongUsage;
    }
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`operator: ${error instanceof ProblemError ? error.detail : message}\n`);
    return exitCodes.failed;
  }
}

process.exitCode = await main(process.argv.slice(2));
