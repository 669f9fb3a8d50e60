/** The request log: what the applications of the organisation asked, as it happens or as it was. */
import type { LoggedRequest } from '@switchyard/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { follow } from '../../command-line/follow-event-stream.ts';
import { type ListOptions, listOptions, wholeNumber } from '../../command-line/list-options.ts';
import { column, showList } from '../../command-line/list-output.ts';
import {
  below,
  fitted,
  msText,
  padded,
  roomBehind,
  sideBySide,
  statusColour,
  timeOf,
} from '../../output/line-layout.ts';
import type { Screen } from '../../output/output.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

type Filters = {
  readonly status?: string;
  readonly method?: string;
  readonly path?: string;
  readonly operation?: string;
  readonly code?: string;
  readonly client?: string;
  readonly merchant?: string;
};
type TailOptions = Filters & { readonly lines: number; readonly count?: number };
type FindOptions = Filters &
  ListOptions & { readonly from?: string; readonly to?: string; readonly request?: string };

const path = '/logs/v1/requests';
const linesUsual = 10;
/** As long as OPTIONS. */
const methodWidth = 7;
/** Where nobody sits and more stands behind it. */
const pathWidth = 64;
/** Below the milliseconds. */
const indent = 19;
/** Time, status, milliseconds and method, with the gaps between them. */
const headWidth = 12 + 2 + 3 + 2 + 10 + 2 + methodWidth;

function filtersOf({ status, method, path: start, operation, code, client, merchant }: Filters) {
  return {
    status,
    method: method?.toUpperCase(),
    path: start,
    code,
    operationId: operation,
    clientId: client,
    merchantId: merchant,
  };
}

/** What was wrong, and how to name it to somebody else: what may be long stands last. */
function whyOf({ code, errors = [], requestId }: LoggedRequest): string {
  const faulty = errors.map((error) =>
    error.code === code ? error.pointer : `${error.pointer} ${error.code}`,
  );
  return sideBySide([code ?? '', requestId, faulty.join(', ')]);
}

/** A second line tells of what failed; where nobody sits all stands in one, for grep. */
export function requestLines(line: LoggedRequest, { paint, width }: Screen): string {
  const { at, status, durationMs, method } = line;
  const head = sideBySide([
    paint('dim', timeOf(at)),
    paint(statusColour(status), String(status)),
    msText(durationMs),
    padded(method, methodWidth),
  ]);
  const first = sideBySide([head, fitted(line.path, roomBehind(headWidth, width), true)]);
  if (width === undefined) {
    const why = fitted(whyOf(line), undefined);
    return sideBySide([head, padded(fitted(line.path, undefined), pathWidth), why]);
  }
  if (status < 400) return first;
  return `${first}\n${below(whyOf(line), indent, width, paint)}`;
}

async function show({ screen }: Kit, line: LoggedRequest): Promise<void> {
  if (screen.json) await screen.line(line);
  else await screen.row(requestLines(line, screen));
}

/** The last lines, and where the stream goes on: behind everything that is kept by now. */
async function lastLines(kit: Kit, query: Record<string, string | undefined>, count: number) {
  const lines = async (filters: Record<string, string | undefined>, most: number) => {
    const found: LoggedRequest[] = [];
    for await (const line of kit.api().list<LoggedRequest>(path, filters, most)) found.push(line);
    return found;
  };
  const [youngest] = await lines({}, 1);
  const found = count === 0 ? [] : await lines(query, count);
  const shown = found.toReversed();
  const after = Math.max(youngest?.sequence ?? 0, shown.at(-1)?.sequence ?? 0);
  return { shown, after };
}

async function tail(kit: Kit, options: TailOptions): Promise<ExitName | undefined> {
  const { count } = options;
  const query = filtersOf(options);
  const { shown, after } = await lastLines(kit, query, options.lines);
  let left = count ?? Number.POSITIVE_INFINITY;
  for (const line of shown) await show(kit, line);
  const onOpen = () => kit.screen.note('Waiting for requests; Ctrl+C ends it.');
  for await (const { data } of follow(kit, path, { query, after: String(after), onOpen })) {
    await show(kit, JSON.parse(data) as LoggedRequest);
    left -= 1;
    if (left === 0) return undefined;
  }
  if (!kit.world.stopping.aborted) return undefined;
  kit.screen.clearLine();
  return 'interrupted';
}

/** Looked at here, so that a slip of the fingers does not wait for nothing. */
function status(text: string): string {
  if (/^[1-5](?:\d\d|xx)$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It has to be a status such as 404, or a class such as 4xx.');
}

function filterOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--status <status>', 'a status, or a class of them such as 4xx').argParser(status),
    )
    .option('--method <method>', 'such as POST')
    .option('--path <start>', 'what the path begins with')
    .option('--operation <id>', 'the operation, such as processTransaction')
    .option('--code <code>', 'the code of the refusal')
    .option('--client <id>', 'the application that asked')
    .option('--merchant <id>', 'the merchant that the token was bound to');
}

export function addLogCommands(program: Command, { act }: Runner): void {
  const logs = program
    .command('logs')
    .summary('what applications asked, and what they were told')
    .description(
      'The request log of the organisation: method, path, status, code and time of each request, never what was in it. How much is kept is a setting of the platform.',
    );
  filterOptions(logs.command('tail'))
    .description('The last requests, then those that come, until Ctrl+C. Times are in UTC.')
    .addOption(
      new Option('-n, --lines <count>', 'how many of the last ones first; 0 for none')
        .argParser((text) => (text === '0' ? 0 : wholeNumber(text)))
        .default(linesUsual),
    )
    .addOption(new Option('--count <count>', 'ends after so many that come').argParser(wholeNumber))
    .addHelpText(
      'after',
      '\nExamples:\n  $ switchyard logs tail --status 4xx\n  $ switchyard logs tail --json | jq .code',
    )
    .action(act<TailOptions>((kit, _args, options) => tail(kit, options), { finishes: true }));
  listOptions(filterOptions(logs.command('list')))
    .description('Requests of the past, the newest first.')
    .option('--from <time>', 'of this time and later')
    .option('--to <time>', 'before this time')
    .option('--request <id>', 'by the x-request-id of its answer')
    .action(
      act<FindOptions>(async (kit, _args, options) => {
        const { from, to, request: requestId } = options;
        await showList(kit, path, { ...filtersOf(options), from, to, requestId }, options, [
          column('at', 'AT', true),
          column('status', 'STATUS', true),
          column('method', 'METHOD', true),
          { title: 'PATH', of: (row) => row['path'], keepsEnd: true },
          column('code'),
          column('requestId', 'REQUEST', true),
        ]);
        return undefined;
      }),
    );
}
