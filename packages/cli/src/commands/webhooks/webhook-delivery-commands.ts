/** `switchyard webhooks deliveries`, `resend`, `test` and `replay`. */

import { setTimeout as pause } from 'node:timers/promises';
import { defined, type WebhookDelivery, type WebhookDeliveryDetail } from '@switchyard/contract';
import { type Command, Option } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import { addListOptions, type ListOptions } from '../../command-line/list-options.ts';
import { column, printList, printResource, type Row } from '../../command-line/list-output.ts';
import type { Column } from '../../output/table.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

export const endpointsPath = '/webhooks/v1/endpoints';
export const deliveriesPath = '/webhooks/v1/deliveries';

type FindOptions = ListOptions & {
  readonly endpoint?: string;
  readonly status?: string;
  readonly event?: string;
};
type WaitOptions = { readonly wait: boolean };

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

export const deliveryPath = (id: string): string => `${deliveriesPath}/${encodeURIComponent(id)}`;

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
    const { body } = await context
      .api()
      .call<WebhookDelivery>('GET', deliveryPath(created.deliveryId));
    delivery = body;
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
  path: string,
  body: unknown,
  { wait }: WaitOptions,
): Promise<ExitName | undefined> {
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

function printDelivery({ output }: CommandContext, delivery: WebhookDeliveryDetail): void {
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

function addDeliveryListCommands(webhooks: Command, { toAction }: CommandRunner): void {
  const deliveries = webhooks
    .command('deliveries')
    .description('Shows the deliveries of events to endpoints.');
  addListOptions(deliveries.command('list', { isDefault: true }))
    .description('Lists deliveries, the newest first.')
    .option('--endpoint <id>', 'only deliveries to this endpoint')
    .addOption(
      new Option('--status <status>', 'only this status').choices([
        'Pending',
        'Delivered',
        'Failed',
      ]),
    )
    .option('--event <id>', 'only deliveries of this event')
    .action(
      toAction<FindOptions>(async (context, _args, { endpoint, status, event, ...list }) => {
        const query = { endpointId: endpoint, status, eventId: event };
        await printList(context, deliveriesPath, query, list, columns);
        return undefined;
      }),
    );
  deliveries
    .command('get <deliveryId>')
    .description('Shows a delivery with its attempts and the responses of the receiver.')
    .action(
      toAction(async (context, [id = '']) => {
        printDelivery(
          context,
          (await context.api().call<WebhookDeliveryDetail>('GET', deliveryPath(id))).body,
        );
        return undefined;
      }),
    );
}

export function addDeliveryCommands(webhooks: Command, runner: CommandRunner): void {
  const { toAction } = runner;
  addDeliveryListCommands(webhooks, runner);
  webhooks
    .command('resend <deliveryId>')
    .description('Sends a delivery again with the same id and the same body.')
    .option('--no-wait', 'do not wait for the response of the receiver')
    .action(
      toAction<WaitOptions>((context, [id = ''], options) =>
        requestDelivery(context, `${deliveryPath(id)}/resend`, undefined, options),
      ),
    );
  webhooks
    .command('test <endpointId>')
    .description('Sends a test event to an endpoint and shows its response.')
    .option('--type <event>', 'type of the test event')
    .option('--no-wait', 'do not wait for the response of the receiver')
    .action(
      toAction<WaitOptions & { type?: string }>((context, [id = ''], { type, ...options }) => {
        const path = `${endpointsPath}/${encodeURIComponent(id)}/test`;
        return requestDelivery(context, path, defined({ type }), options);
      }),
    );
  webhooks
    .command('replay <endpointId>')
    .description(
      'Sends events again: those of a time range, or by default all since the last successful delivery.',
    )
    .option('--from <time>', 'from this time on')
    .option('--to <time>', 'until before this time; default: now')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard webhooks replay 0198… --from 2026-03-01T00:00:00Z',
    )
    .action(
      toAction<{ from?: string; to?: string }>(async (context, [id = ''], { from, to }) => {
        const path = `${endpointsPath}/${encodeURIComponent(id)}/replay`;
        const body = { ...(from && { from }), ...(to && { to }) };
        printResource(context, (await context.api().call('POST', path, { body })).body);
        return undefined;
      }),
    );
}
