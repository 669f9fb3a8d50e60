/** `switchyard webhooks listen`: shows live events, and forwards them to the user's server, signed. */

import { defined, eventTypes, isEventPattern } from '@switchyard/contract';
import { InvalidArgumentError } from 'commander';
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import { collectTexts, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { followEventStream } from '../../command-line/follow-event-stream.ts';
import {
  parseCommaList,
  parseWholeNumber,
  requireHttpUrl,
} from '../../command-line/list-options.ts';
import { escapedJson, escapeText } from '../../output/escape-text.ts';
import {
  fitToWidth,
  formatMilliseconds,
  indentedLine,
  joinColumns,
  padToWidth,
  statusColour,
  utcTimeOfDay,
} from '../../output/line-layout.ts';
import type { Output } from '../../output/output.ts';
import { fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { readInputFile } from '../../session/private-files.ts';
import {
  createForwarder,
  type FeedEvent,
  type Forwarder,
  type ForwardResult,
} from '../../webhooks/event-forwarder.ts';
import { createWebhookSigner, loadWebhookSecret } from '../../webhooks/webhook-signer.ts';

export type ListenOptions = {
  readonly forwardTo?: string;
  readonly events?: string[];
  readonly merchant?: string;
  readonly after?: string;
  readonly count?: number;
  readonly header?: string[];
  readonly forwardCaFile?: string;
  readonly printJson?: boolean;
  readonly printSecret?: boolean;
};

/** Aligns the columns after the event type. */
const typeWidth = Math.max(...eventTypes.map((type) => type.length));
const eventIdWidth = 36;
/** Aligns the second line below the status. */
const indent = 14;
const isAccepted = (forwardResult: ForwardResult): boolean =>
  'status' in forwardResult && forwardResult.status >= 200 && forwardResult.status < 300;

export function requireEventPatterns(events: readonly string[]): string[] {
  const unknown = events.filter((pattern) => !isEventPattern(pattern));
  if (unknown.length > 0) {
    fail(
      'usage',
      `Unknown event types: ${unknown.join(', ')}.`,
      'List the event types: switchyard webhooks events',
    );
  }
  return [...events];
}

function parseHeaders(headerTexts: readonly string[] = []): Record<string, string> {
  const pairs = headerTexts.map((text) => {
    const at = text.indexOf(':');
    if (at < 1) return fail('usage', `“${text}” is not of the form name:value.`);
    const [name, value] = [text.slice(0, at).trim().toLowerCase(), text.slice(at + 1).trim()];
    return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) && !/[^\t\x20-\x7e]/.test(value)
      ? [name, value]
      : fail('usage', `“${text}” is not a valid HTTP header.`);
  });
  return Object.fromEntries(pairs);
}

/** Time, response, type and position of an event; also its id if the line is wide enough. */
function formatEvent(
  event: FeedEvent,
  forwardResult: ForwardResult | undefined,
  { paint, width }: Output,
): string {
  const position = `#${event.position}`;
  const status =
    forwardResult !== undefined && 'status' in forwardResult ? forwardResult.status : undefined;
  const result =
    forwardResult === undefined
      ? []
      : [
          paint(statusColour(status), status === undefined ? '---' : String(status)),
          formatMilliseconds(forwardResult.ms),
        ];
  const usedWidth =
    12 + (forwardResult === undefined ? 0 : 17) + 2 + typeWidth + 2 + position.length;
  const hasSpace = width === undefined || usedWidth + 2 + eventIdWidth <= width;
  const line = joinColumns([
    paint('dim', utcTimeOfDay(event.timestamp)),
    ...result,
    padToWidth(fitToWidth(event.type, undefined), typeWidth),
    ...(hasSpace ? [fitToWidth(event.eventId, undefined)] : []),
    paint('dim', position),
  ]);
  if (forwardResult === undefined || isAccepted(forwardResult)) return line;
  const [message = ''] =
    'status' in forwardResult
      ? forwardResult.responseText.trim().split('\n')
      : [forwardResult.fault];
  return message === '' ? line : `${line}\n${indentedLine(message, indent, width, paint)}`;
}

async function printEvent(
  { output }: CommandContext,
  event: FeedEvent,
  forwardResult: ForwardResult | undefined,
  printsBody: boolean,
): Promise<void> {
  if (output.json) {
    await output.printJsonLine({ ...event, ...defined({ forwarded: forwardResult }) });
    return;
  }
  const { type, timestamp, data } = event;
  const body = printsBody ? `\n${escapedJson({ type, timestamp, data }, 2)}` : '';
  await output.printLine(`${formatEvent(event, forwardResult, output)}${body}`);
}

type DeliveryCounts = { accepted: number; rejected: number };

async function listen(
  context: CommandContext,
  options: ListenOptions,
  forwarder: Forwarder | undefined,
) {
  const { after, merchant: merchantId, printJson = false } = options;
  const types =
    options.events === undefined ? undefined : requireEventPatterns(options.events).join(',');
  const count: DeliveryCounts = { accepted: 0, rejected: 0 };
  let remaining = options.count ?? Number.POSITIVE_INFINITY;
  const onOpen = () => context.output.printNote('Waiting for events; press Ctrl+C to stop.');
  const query = { types, merchantId };
  for await (const { data } of followEventStream(context, '/events/v1', { query, after, onOpen })) {
    const event = JSON.parse(data) as FeedEvent;
    const forwardResult = await forwarder?.send(event);
    if (
      context.environment.stopping.aborted &&
      forwardResult !== undefined &&
      'fault' in forwardResult
    )
      break;
    await printEvent(context, event, forwardResult, printJson);
    if (forwardResult === undefined || isAccepted(forwardResult)) count.accepted += 1;
    else count.rejected += 1;
    remaining -= 1;
    if (remaining === 0) break;
  }
  return count;
}

function printTarget(context: CommandContext, url: URL | undefined, secret: string): void {
  const { printNote } = context.output;
  const { profileName, profile } = context.session();
  printNote(`Events of    ${profile.url} (profile ${profileName})`);
  if (url === undefined) return;
  printNote(`forwarded to ${escapeText(url.href)}`);
  printNote(`signed with  ${secret} (the same each time)`);
}

async function runListen(
  context: CommandContext,
  _args: string[],
  options: ListenOptions,
): Promise<ExitName | undefined> {
  const { forwardTo, forwardCaFile, printSecret } = options;
  const secret = loadWebhookSecret(context.environment, context.session().profile);
  const signer = createWebhookSigner(secret);
  if (printSecret) {
    const secretAndKey = { secret, publicKey: signer.publicKey };
    context.output.printResult(secretAndKey, () => `${secret}\n`);
    return undefined;
  }
  const url = forwardTo === undefined ? undefined : requireHttpUrl(forwardTo);
  const forwarder =
    url === undefined
      ? undefined
      : createForwarder({
          url,
          signer,
          clock: context.environment.clock,
          stopping: context.environment.stopping,
          headers: parseHeaders(options.header),
          ca: forwardCaFile === undefined ? undefined : readInputFile(forwardCaFile),
          timeoutMs: context.globals.timeout * 1000,
        });
  printTarget(context, url, secret);
  try {
    const { accepted, rejected } = await listen(context, options, forwarder);
    if (context.environment.stopping.aborted) context.output.clearLine();
    const countText = accepted + rejected === 1 ? '1 event' : `${accepted + rejected} events`;
    if (forwarder === undefined) context.output.printNote(`${countText}.`);
    else context.output.printNote(`${countText}: ${accepted} accepted, ${rejected} not accepted.`);
    if (context.environment.stopping.aborted) return 'interrupted';
    return rejected > 0 ? 'partlyDone' : undefined;
  } finally {
    forwarder?.close();
  }
}

function parsePosition(text: string): string {
  if (/^[0-9]{1,15}$/.test(text)) return text;
  throw new InvalidArgumentError('Enter a whole number.');
}

export const listenCommand: CommandDefinition = {
  command: 'listen',
  summary: 'show live events and forward them to your server',
  description:
    'Shows events as they occur. With --forward-to, the command sends each event to your server, signed in the same way as a delivery of the platform. After a lost connection it continues with the next event, so that no event is lost. If your server rejects an event, the command reports it and does not send it again. Times are in UTC.',
  finishes: true,
  options: [
    option('--forward-to <url>', 'POST each event to this address'),
    option('--events <types>', 'only these event types, such as transaction.*; can be repeated', {
      parse: parseCommaList,
    }),
    option('--merchant <id>', 'only events of this merchant'),
    option('--after <position>', 'begin after this position; default: now', {
      parse: parsePosition,
    }),
    option('--count <count>', 'stop after this number of events', {
      parse: parseWholeNumber,
    }),
    option('-H, --header <name:value>', 'add this header to each forwarded event', {
      parse: collectTexts,
    }),
    option('--forward-ca-file <file>', 'certificate authority of your server, as PEM'),
    option('--print-json', 'print the body of each event'),
    option('--print-secret', 'print the signing secret and stop'),
  ],
  run: runListen,
  examples: [
    'switchyard webhooks listen --forward-to http://localhost:3000/hooks',
    "switchyard webhooks listen --events 'transaction.*,batch.completed' --print-json",
  ],
};
