// `npm run reports`: compares the reports of an organisation with its payments, or has a running platform rebuild them.
import { parseArgs } from 'node:util';

const exitCodes = { done: 0, failed: 1, wrongUsage: 2 };

const usage = `npm run reports -- check ORGANIZATION [--json]
    Counts all payments of an organisation again and compares every sum with its reports. Payments may
    be made at the same time.

npm run reports -- rebuild ORGANIZATION [--json]
    Marks the reports of an organisation: a running platform deletes them and rebuilds them from its payments.

Reads the settings of the platform (SWITCHYARD_…), and may run beside it.
Exit codes: 0 done, 1 failed or different, 2 wrong usage. More: docs/how-to/operate-reports.md
`;

class UsageError extends Error {}

const flags = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type ReportsOptions = { command: 'check' | 'rebuild'; organizationId: string; json: boolean };

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readOptions(args: string[]): ReportsOptions | undefined {
  const { values, positionals } = parse(args);
  if (values.help) return undefined;
  const [command, organizationId, ...rest] = positionals;
  if (command !== 'check' && command !== 'rebuild') throw new UsageError('check or rebuild?');
  if (organizationId === undefined || !uuid.test(organizationId)) {
    throw new UsageError('the identifier of an organisation comes next');
  }
  if (rest.length > 0) throw new UsageError(`unexpected: ${rest.join(' ')}`);
  return { command, organizationId: organizationId.toLowerCase(), json: values.json };
}

/** Loads the code of the platform only for a valid command, because loading is slow. */
async function runCommand({ command, organizationId, json }: ReportsOptions): Promise<number> {
  const { readSettings, omitCardSettings } = await import(
    '../../packages/server/src/platform/index.ts'
  );
  const { compareReports, rebuildReports } = await import(
    '../../packages/server/src/reporting/index.ts'
  );
  const { withDatabase } = await import('../platform-database/open-platform-database.ts');
  const settings = readSettings(omitCardSettings(process.env));
  return withDatabase(settings, { name: 'reports', connections: 2 }, async ({ database }) => {
    const print = (text: string, facts: object) =>
      process.stdout.write(json ? `${JSON.stringify(facts)}\n` : `${text}\n`);
    if (command === 'rebuild') {
      await rebuildReports(database, organizationId);
      print('The reports are marked; a running platform rebuilds them.', { organizationId });
      return exitCodes.done;
    }
    const check = await compareReports(database, organizationId);
    const { payments, cells, differences } = check;
    const summary = differences.length === 0 ? 'nothing differs' : 'these differ:';
    print(`${payments} payments, ${cells} sums: ${summary}`, { organizationId, ...check });
    for (const { where, stored, counted } of json ? [] : differences) {
      process.stdout.write(`${where}\n  stored  ${stored}\n  counted ${counted}\n`);
    }
    return differences.length === 0 ? exitCodes.done : exitCodes.failed;
  });
}

async function main(args: string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === undefined) process.stdout.write(usage);
    return options === undefined ? exitCodes.done : await runCommand(options);
  } catch (error) {
    const wrongUsage = error instanceof UsageError;
    process.stderr.write(`reports: ${error instanceof Error ? error.message : String(error)}\n`);
    if (wrongUsage) process.stderr.write(`\n${usage}`);
    return wrongUsage ? exitCodes.wrongUsage : exitCodes.failed;
  }
}

process.exitCode = await main(process.argv.slice(2));
