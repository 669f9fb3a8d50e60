// `npm run reports`: compares the reports of an organisation with its payments, or has them made anew.
import { parseArgs } from 'node:util';

const exitCodes = { done: 0, failed: 1, wrongUsage: 2 };

const usage = `npm run reports -- check ORGANIZATION [--json]
    Counts all payments of an organisation anew and compares every sum with its reports. Payments may be
    made meanwhile.

npm run reports -- rebuild ORGANIZATION [--json]
    Has a running platform delete the reports of an organisation, and make them anew from its payments.

Reads the settings of the platform (SWITCHYARD_…), and may run beside it.
Exit codes: 0 done, 1 failed or different, 2 wrong usage. More: docs/how-to/look-after-reports.md
`;

class UsageFault extends Error {}

const flags = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Wanted = { command: 'check' | 'rebuild'; organizationId: string; json: boolean };

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageFault(error instanceof Error ? error.message : String(error));
  }
}

function readWanted(args: string[]): Wanted | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [command, organizationId, ...rest] = positionals;
  if (command !== 'check' && command !== 'rebuild') throw new UsageFault('check or rebuild?');
  if (organizationId === undefined || !uuid.test(organizationId)) {
    throw new UsageFault('the identifier of an organisation comes next');
  }
  if (rest.length > 0) throw new UsageFault(`unexpected: ${rest.join(' ')}`);
  return { command, organizationId: organizationId.toLowerCase(), json: values.json };
}

/** Loaded only then: who mistyped a word need not wait for the platform's code. */
async function doWork({ command, organizationId, json }: Wanted): Promise<number> {
  const { readSettings, omitCardSettings: withoutCards } = await import(
    '../../packages/server/src/platform/index.ts'
  );
  const { compareReports, rebuildReports } = await import(
    '../../packages/server/src/reporting/index.ts'
  );
  const { withDatabase } = await import('../platform-database/open-platform-database.ts');
  const settings = readSettings(withoutCards(process.env));
  return withDatabase(settings, { name: 'reports', connections: 2 }, async ({ database }) => {
    const say = (text: string, facts: object) =>
      process.stdout.write(json ? `${JSON.stringify(facts)}\n` : `${text}\n`);
    if (command === 'rebuild') {
      await rebuildReports(database, organizationId);
      say('The reports are marked; a running platform makes them anew.', { organizationId });
      return exitCodes.done;
    }
    const check = await compareReports(database, organizationId);
    const { payments, cells, differences } = check;
    const found = differences.length === 0 ? 'nothing differs' : 'these differ:';
    say(`${payments} payments, ${cells} sums: ${found}`, { organizationId, ...check });
    for (const { where, stored, counted } of json ? [] : differences) {
      process.stdout.write(`${where}\n  stored  ${stored}\n  counted ${counted}\n`);
    }
    return differences.length === 0 ? exitCodes.done : exitCodes.failed;
  });
}

async function main(args: string[]): Promise<number> {
  try {
    const wanted = readWanted(args);
    if (wanted === undefined) process.stdout.write(usage);
    return wanted === undefined ? exitCodes.done : await doWork(wanted);
  } catch (error) {
    const wrongUsage = error instanceof UsageFault;
    process.stderr.write(`reports: ${error instanceof Error ? error.message : String(error)}\n`);
    if (wrongUsage) process.stderr.write(`\n${usage}`);
    return wrongUsage ? exitCodes.wrongUsage : exitCodes.failed;
  }
}

process.exitCode = await main(process.argv.slice(2));
