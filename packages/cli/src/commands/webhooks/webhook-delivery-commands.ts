/** `switchyard webhooks deliveries`, `resend`, `test` and `replay`. */

import { setTimeout as pause } from 'node:timers/promises';
import { defined, type WebhookDelivery, type WebhookDeliveryDetail } from '@switchyard/contract';
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import { memberOption, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { column, type Row } from '../../command-line/list-output.ts';
import { resolvePath } from '../../command-line/path-parameters.ts';
import type { Column } from '../../output/table.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

export const endpointsPath = '/webhooks/v1/endpoints';
const deliveriesPath = '/webhooks/v1/deliveries';

type DeliveryOptions = { readonly wait: boolean; readonly type?: string };

const pollIntervalMs = 200;

/** The HTTP status of the last attempt, or the reason why there is none. */
export function describeLastAttempt(delivery: Pick<WebhookDelivery, 'lastAttempt'>): string {
  const { lastAttempt } = delivery;
  if (lastAttempt === undefined) return '';
  const { status, fault, ms } = lastAttempt;
  return `${status ?? fault} (${ms} ms)`;
}

const columns: readonly Column<Row>[] = [
  column('deliveryId', 'DELIVERY', true),
  column('type', 'EVENT'),
  column('status', 'STATUS', true),
  column('attempts', 'TRIES', true),
  { title: 'LAST', value: (row) => describeLastAttempt(row as unknown as WebhookDelivery) },
  column('nextAttemptAt', 'NEXT'),
];

/** Waits for the next attempt of a delivery, at most for the time of --timeout. */
export async function waitForAttempt(
  context: CommandContext,
  created: WebhookDelivery,
): Promise<WebhookDelivery> {
  const { clock, stopping } = context.environment;
  const deadline = clock.now() + context.globals.timeout * 1000;
  let delivery = created;
  while (delivery.lastAttempt === undefined || delivery.updatedAt === created.updatedAt) {
    if (clock.now() >= deadline || stopping.aborted) break;
    await pause(pollIntervalMs, undefined, { signal: stopping }).catch(() => undefined);
    const path = `${deliveriesPath}/${encodeURIComponent(created.deliveryId)}`;
    delivery = (await context.api().call<WebhookDelivery>('GET', path)).body;
  }
  return delivery;
}

export function exitNameOfDeliveries(deliveries: readonly WebhookDelivery[]): ExitName | undefined {
  const delivered = deliveries.filter(({ status }) => status === 'Delivered').length;
  if (delivered === deliveries.length) return undefined;
  return delivered > 0 ? 'partlyDone' : 'refused';
}

export function printDeliveries(
  { output }: CommandContext,
  deliveries: readonly WebhookDelivery[],
  facts: Record<string, unknown> = {},
): void {
  output.printResult({ ...facts, items: deliveries }, () =>
    output.formatTable(columns, deliveries as unknown as Row[]),
  );
}

/** Requests a delivery and shows the result of its next attempt. */
async function requestDelivery(
  context: CommandContext,
  template: string,
  args: string[],
  wait: boolean,
  body?: Row,
): Promise<ExitName | undefined> {
  const { path } = await resolvePath(context, template, args, {});
  const { body: created } = await context.api().call<WebhookDelivery>('POST', path, { body });
  const delivery = wait ? await waitForAttempt(context, created) : created;
  context.output.printResult(delivery, () => {
    const { deliveryId, eventId, type, status, attempts } = delivery;
    const answer = delivery.lastAttempt?.answer || undefined;
    const summary = {
      deliveryId,
      eventId,
      type,
      status,
      attempts,
      last: describeLastAttempt(delivery),
      answer,
    };
    return context.output.formatMembers(summary);
  });
  return wait ? exitNameOfDeliveries([delivery]) : undefined;
}

function printDelivery({ output }: CommandContext, response: Row): void {
  const delivery = response as unknown as WebhookDeliveryDetail;
  const { log, body, lastAttempt: _last, ...facts } = delivery;
  const attemptColumns: readonly Column<(typeof log)[number]>[] = [
    { title: 'TRIED', value: ({ at }) => at, neverTruncate: true },
    { title: 'STATUS', value: ({ status, fault }) => status ?? fault, neverTruncate: true },
    { title: 'MS', value: ({ ms }) => ms, neverTruncate: true },
    { title: 'ANSWER', value: ({ answer }) => answer },
  ];
  output.printResult(delivery, () => {
    const attemptTable = log.length === 0 ? '' : `\n${output.formatTable(attemptColumns, log)}`;
    return `${output.formatMembers({ ...facts, body })}${attemptTable}`;
  });
}

const waitOption = option('--no-wait', 'do not wait for the response of the receiver');

export const deliveryCommands: readonly CommandDefinition[] = [
  {
    group: 'deliveries',
    description: 'Shows the deliveries of events to endpoints.',
    commands: [
      {
        command: 'list',
        isDefault: true,
        description: 'Lists deliveries, the newest first.',
        route: `GET ${deliveriesPath}`,
        options: [
          memberOption('--endpoint <id>', 'only deliveries to this endpoint', 'endpointId'),
          memberOption('--status <status>', 'only this status', 'status', {
            choices: ['Pending', 'Delivered', 'Failed'],
          }),
          memberOption('--event <id>', 'only deliveries of this event', 'eventId'),
        ],
        columns,
      },
      {
        command: 'get <deliveryId>',
        description: 'Shows a delivery with its attempts and the responses of the receiver.',
        route: `GET ${deliveriesPath}/{deliveryId}`,
        print: printDelivery,
      },
    ],
  },
  {
    command: 'resend <deliveryId>',
    description: 'Sends a delivery again with the same id and the same body.',
    options: [waitOption],
    run: (context, args, { wait }: DeliveryOptions) =>
      requestDelivery(context, `${deliveriesPath}/{deliveryId}/resend`, args, wait),
  },
  {
    command: 'test <endpointId>',
    description: 'Sends a test event to an endpoint and shows its response.',
    options: [option('--type <event>', 'type of the test event'), waitOption],
    run: (context, args, { wait, type }: DeliveryOptions) =>
      requestDelivery(context, `${endpointsPath}/{endpointId}/test`, args, wait, defined({ type })),
  },
  {
    command: 'replay <endpointId>',
    description:
      'Sends events again: those of a time range, or by default all since the last successful delivery.',
    route: `POST ${endpointsPath}/{endpointId}/replay`,
    members: {},
    options: [
      memberOption('--from <time>', 'from this time on', 'from'),
      memberOption('--to <time>', 'before this time; default: now', 'to'),
    ],
    examples: ['switchyard webhooks replay 0198… --from 2026-03-01T00:00:00Z'],
  },
];
