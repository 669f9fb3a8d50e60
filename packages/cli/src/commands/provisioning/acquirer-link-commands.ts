/** `switchyard acquirer links` and `wait`: the connections to acquirer hosts. */
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { parseWholeNumber } from '../../command-line/list-options.ts';
import { column, type Row } from '../../command-line/list-output.ts';
import { findAcquirerLinkId } from '../../command-line/path-parameters.ts';
import { fail } from '../../runtime/command-error.ts';

const statesPath = '/payment/v1/acquirer-links';
const waitSecondsMax = 30;
/** The server answers this long before the time-out of the request. */
const reserveSeconds = 5;

type LinkState = {
  readonly name: string;
  readonly state: 'PendingApproval' | 'Disabled' | 'Connecting' | 'Available';
  readonly lastFault?: string;
};

const faultsByState = {
  PendingApproval: 'The operator of the platform must approve its host and port first.',
  Disabled: 'It is disabled.',
} as const;

async function waitForLink(
  context: CommandContext,
  [name = '']: string[],
  { seconds }: { readonly seconds: number },
): Promise<void> {
  const { output, globals } = context;
  const requestSeconds = Math.min(waitSecondsMax, Math.max(1, globals.timeout - reserveSeconds));
  const path = `${statesPath}/${await findAcquirerLinkId(context, name)}`;
  const endMs = performance.now() + seconds * 1000;
  let link: LinkState;
  do {
    const secondsLeft = Math.ceil((endMs - performance.now()) / 1000);
    const query = { waitSeconds: Math.max(0, Math.min(requestSeconds, secondsLeft)) };
    link = (await context.api().call<LinkState>('GET', path, { query })).body;
  } while (link.state === 'Connecting' && performance.now() < endMs);
  output.printResult(link, () => output.formatMembers(link));
  if (link.state === 'Available') return;
  const { state, lastFault = 'no connection yet' } = link;
  if (state === 'Connecting')
    fail('unreachable', `The link is not available after ${seconds} seconds: ${lastFault}.`);
  fail('refused', `The link is not available. ${faultsByState[state]}`);
}

export const acquirerLinkCommands: readonly CommandDefinition[] = [
  {
    command: 'links',
    description: 'Lists the acquirer links: whether each is available, and the messages that wait.',
    route: `GET ${statesPath}`,
    columns: [
      column('acquirerLinkId', 'ID', true),
      'name',
      'available',
      { title: 'QUEUE', value: (link) => (link['queue'] as Row)['length'] },
      'alarm',
    ],
  },
  {
    command: 'wait <link>',
    description:
      'Waits until an acquirer link is available. It does not wait for the approval of the operator: the exit code is 6 if the link is not approved or is disabled, and 7 if it is not available in time.',
    arguments: { link: 'id or name of the link' },
    options: [
      option('--seconds <n>', 'how long to wait', { parse: parseWholeNumber, default: 60 }),
    ],
    run: waitForLink,
    examples: ['switchyard acquirer wait north --seconds 30'],
  },
];
