/** `switchyard logs`: the request log of the organisation, live or from the past. */
import type { LoggedRequest } from '@switchyard/contract';
import { InvalidArgumentError } from 'commander';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import {
  memberOption,
  membersFromOptions,
  type OptionValues,
  option,
} from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { followEventStream } from '../../command-line/follow-event-stream.ts';
import {
  type ListOptions,
  listOptions,
  parseWholeNumber,
} from '../../command-line/list-options.ts';
import { column, printList } from '../../command-line/list-output.ts';
import type { Query } from '../../http/api-client.ts';
import {
  fitToWidth,
  formatMilliseconds,
  indentedLine,
  joinColumns,
  padToWidth,
  remainingWidth,
  statusColour,
  utcTimeOfDay,
} from '../../output/line-layout.ts';
import type { Output } from '../../output/output.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

type TailOptions = OptionValues & { readonly lines: number; readonly count?: number };

const path = '/logs/v1/requests';
const defaultLines = 10;
/** The length of OPTIONS. */
const methodWidth = 7;
/** The width of the path if stdout is not a terminal. */
const pathWidth = 64;
/** Aligns the second line below the milliseconds. */
const indent = 19;
/** Time, status, milliseconds and method, with the gaps between them. */
const headWidth = 12 + 2 + 3 + 2 + 10 + 2 + methodWidth;

/** Error code, request id and invalid members; the longest part is last. */
function describeFailure({ code, errors = [], requestId }: LoggedRequest): string {
  const invalidMembers = errors.map((error) =>
    error.code === code ? error.pointer : `${error.pointer} ${error.code}`,
  );
  return joinColumns([code ?? '', requestId, invalidMembers.join(', ')]);
}

/** A failed request has a second line with the reason; without a terminal all is in one line, for grep. */
export function formatLoggedRequest(line: LoggedRequest, { paint, width }: Output): string {
  const { at, status, durationMs, method } = line;
  const head = joinColumns([
    paint('dim', utcTimeOfDay(at)),
    paint(statusColour(status), String(status)),
    formatMilliseconds(durationMs),
    padToWidth(method, methodWidth),
  ]);
  const first = joinColumns([head, fitToWidth(line.path, remainingWidth(headWidth, width), true)]);
  if (width === undefined) {
    const failure = fitToWidth(describeFailure(line), undefined);
    return joinColumns([head, padToWidth(fitToWidth(line.path, undefined), pathWidth), failure]);
  }
  if (status < 400) return first;
  return `${first}\n${indentedLine(describeFailure(line), indent, width, paint)}`;
}

async function printRequest({ output }: CommandContext, line: LoggedRequest): Promise<void> {
  if (output.json) await output.printJsonLine(line);
  else await output.printLine(formatLoggedRequest(line, output));
}

/** The last requests, and the sequence after which the stream continues. */
async function readLastRequests(context: CommandContext, query: Query, count: number) {
  const lines = async (filters: Query, maxItems: number) => {
    const requestsRequests: LoggedRequest[] = [];
    for await (const line of context.api().list<LoggedRequest>(path, filters, maxItems))
      requestsRequests.push(line);
    return requestsRequests;
  };
  const [newest] = await lines({}, 1);
  const requestsRequests = count === 0 ? [] : await lines(query, count);
  const shown = requestsRequests.toReversed();
  const after = Math.max(newest?.sequence ?? 0, shown.at(-1)?.sequence ?? 0);
  return { shown, after };
}

async function tail(
  context: CommandContext,
  _args: string[],
  options: TailOptions,
): Promise<ExitName | undefined> {
  const { count } = options;
  const query = membersFromOptions(filters, options) as Query;
  const { shown, after } = await readLastRequests(context, query, options.lines);
  let remaining = count ?? Number.POSITIVE_INFINITY;
  for (const line of shown) await printRequest(context, line);
  const onOpen = () => context.output.printNote('Waiting for requests; press Ctrl+C to stop.');
  for await (const { data } of followEventStream(context, path, {
    query,
    after: String(after),
    onOpen,
  })) {
    await printRequest(context, JSON.parse(data) as LoggedRequest);
    remaining -= 1;
    if (remaining === 0) return undefined;
  }
  if (!context.environment.stopping.aborted) return undefined;
  context.output.clearLine();
  return 'interrupted';
}

/** Checked here, because a filter with a typing error would wait without output. */
function status(text: string): string {
  if (/^[1-5](?:\d\d|xx)$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('Enter a status such as 404, or a class such as 4xx.');
}

const filters = [
  memberOption('--status <status>', 'only this status, or a class such as 4xx', 'status', {
    parse: status,
  }),
  memberOption('--method <method>', 'only this method, such as POST', 'method', {
    parse: (text: string) => text.toUpperCase(),
  }),
  memberOption('--path <start>', 'only paths that begin with this text', 'path'),
  memberOption(
    '--operation <id>',
    'only this operation, such as processTransaction',
    'operationId',
  ),
  memberOption('--code <code>', 'only this error code', 'code'),
  memberOption('--client <id>', 'only requests of this application', 'clientId'),
  memberOption('--merchant <id>', 'only requests for this merchant', 'merchantId'),
];

const pastFilters = [
  memberOption('--from <time>', 'from this time on', 'from'),
  memberOption('--to <time>', 'before this time', 'to'),
  memberOption('--request <id>', 'only the request with this x-request-id', 'requestId'),
];

async function list(context: CommandContext, _args: string[], options: OptionValues & ListOptions) {
  const query = membersFromOptions([...filters, ...pastFilters], options) as Query;
  await printList(context, path, query, options, [
    column('at', 'AT', true),
    column('status', 'STATUS', true),
    column('method', 'METHOD', true),
    { title: 'PATH', value: (row) => row['path'], keepEnd: true },
    'code',
    column('requestId', 'REQUEST', true),
  ]);
}

export const logCommands: CommandGroup = {
  group: 'logs',
  summary: 'follow and list API requests',
  description:
    'Shows the request log of the organisation: method, path, status, error code and time of each request, never its content. The setting SWITCHYARD_REQUEST_LOG of the platform determines which requests are stored.',
  commands: [
    {
      command: 'tail',
      description:
        'Shows the last requests, then new requests until you press Ctrl+C. Times are in UTC.',
      finishes: true,
      options: [
        ...filters,
        option('-n, --lines <count>', 'number of past requests to show first; 0 for none', {
          parse: (text: string) => (text === '0' ? 0 : parseWholeNumber(text)),
          default: defaultLines,
        }),
        option('--count <count>', 'stop after this number of new requests', {
          parse: parseWholeNumber,
        }),
      ],
      run: tail,
      examples: ['switchyard logs tail --status 4xx', 'switchyard logs tail --json | jq .code'],
    },
    {
      command: 'list',
      description: 'Lists past requests, the newest first.',
      options: [...filters, ...listOptions, ...pastFilters],
      run: list,
    },
  ],
};
