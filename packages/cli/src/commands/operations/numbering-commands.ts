/** `switchyard admin`: commands of the platform operator. */
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import type { Row } from '../../command-line/list-output.ts';

function printNumbering({ output }: CommandContext, numbering: Row): void {
  const { status, timeline, jumps } = numbering;
  output.printResult(numbering, () => output.formatMembers({ status, timeline, jumps }));
}

export const numberingCommands: readonly CommandDefinition[] = [
  {
    command: 'numbering',
    description: 'Shows whether the platform rejects new payments after a database restore.',
    route: 'GET /health/v1/numbering',
    print: printNumbering,
  },
  {
    command: 'recover-numbering',
    description:
      'Ends the recovery after a database restore. The platform increases each number sequence (such as STAN and RRN), so that no number is used twice. Then it accepts new payments again. If no recovery is required, nothing changes.',
    route: 'POST /health/v1/numbering/recover',
    print: printNumbering,
    examples: ['switchyard admin recover-numbering --profile operator'],
  },
];
