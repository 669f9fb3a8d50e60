// `switchyard admin reports`: compares the reports of an organisation with its payments, and has them rebuilt.
import type { CommandContext } from '../../packages/cli/src/command-line/command-runner.ts';
import { isUuid } from '../../packages/cli/src/command-line/path-parameters.ts';
import { fail } from '../../packages/cli/src/runtime/command-error.ts';
import type { ExitName } from '../../packages/cli/src/runtime/exit-codes.ts';
import { compareReports, rebuildReports } from '../../packages/server/src/reporting/index.ts';
import { withExistingPlatform } from './platform-database.ts';

const requireOrganizationId = (text: string): string =>
  isUuid(text) ? text.toLowerCase() : fail('usage', `“${text}” is not the id of an organisation.`);

export async function checkReports(
  { environment, output }: CommandContext,
  [organization = '']: string[],
): Promise<ExitName | undefined> {
  const organizationId = requireOrganizationId(organization);
  let exit: ExitName | undefined;
  await withExistingPlatform(environment.env, 'reports check', async ({ database }) => {
    const comparison = await compareReports(database, organizationId);
    const { payments, cells, differences } = comparison;
    const isEqual = differences.length === 0;
    output.printResult({ organizationId, ...comparison }, () => {
      const lines = differences.map(
        ({ where, stored, counted }) => `${where}\n  stored  ${stored}\n  counted ${counted}\n`,
      );
      const summary = isEqual ? 'no differences' : `differences: ${differences.length}`;
      return `${payments} payments, ${cells} sums: ${summary}\n${lines.join('')}`;
    });
    if (!isEqual) exit = 'fault';
  });
  return exit;
}

export async function rebuild(
  { environment, output }: CommandContext,
  [organization = '']: string[],
): Promise<void> {
  const organizationId = requireOrganizationId(organization);
  await withExistingPlatform(environment.env, 'reports rebuild', async ({ database }) => {
    await rebuildReports(database, organizationId);
    output.printResult(
      { organizationId },
      () => 'New reports are requested; a running platform builds them.\n',
    );
  });
}
