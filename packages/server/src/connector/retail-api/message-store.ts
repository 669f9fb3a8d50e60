// Contains the SQL of terminal messages, which the server stores for 48 hours.
import { defined, type ErrorCode, type RetailMessage } from '@switchyard/contract';
import { serviceIdRetentionMs } from '@switchyard/nexo';
import {
  bucketSql,
  type Clock,
  type Database,
  decryptBytes,
  deriveKey,
  encryptBytes,
  type Ids,
  isoTime,
  type OutboxEventMapper,
  toRecords,
} from '../../platform/index.ts';
import type { AssignedTerminal } from '../devices/check-device-access.ts';

/** A message before the server sends it. */
type NewMessage = {
  readonly terminal: AssignedTerminal;
  readonly serviceId: string;
  readonly saleId: string;
  readonly category: string;
  readonly isPublished: boolean;
  readonly hasResponse: boolean;
  readonly dueAt: number;
};

export type MessageKey = { readonly organizationId: string; readonly messageId: string };

/** The visible merchants and stores; an omitted member means all of them in the organisation. */
export type MessageScope = {
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
};

export type MessageOutcome =
  | { readonly text: string; readonly result?: string; readonly errorCondition?: string }
  | { readonly fault: ErrorCode };

type StoredMessage = Omit<
  RetailMessage,
  'tsn' | 'response' | 'createdAt' | 'dueAt' | 'settledAt'
> & {
  response?: Buffer;
  createdAt: number;
  dueAt: number;
  settledAt?: number;
};

/** Returns no row if a recent message has the same SaleID and ServiceID. */
const createText = `INSERT INTO retail_messages AS m (organization_id, physical_device_id, service_id,
    sale_id, message_id, merchant_id, store_id, logical_device_id, category, is_published, status,
    created_at, due_at, settled_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
  ON CONFLICT (organization_id, physical_device_id, service_id, sale_id) DO UPDATE
    SET message_id = EXCLUDED.message_id, merchant_id = EXCLUDED.merchant_id,
      store_id = EXCLUDED.store_id, logical_device_id = EXCLUDED.logical_device_id,
      category = EXCLUDED.category, is_published = EXCLUDED.is_published,
      status = EXCLUDED.status, result = NULL, error_condition = NULL, fault = NULL,
      response = NULL, created_at = EXCLUDED.created_at, due_at = EXCLUDED.due_at,
      settled_at = EXCLUDED.settled_at
    WHERE m.created_at < $15
  RETURNING m.message_id`;

const publishText = `INSERT INTO outbox
    (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
  SELECT ${bucketSql('s.message_id')}, s.organization_id, gen_random_uuid(), 'retail.response', s.message_id, 1, $1
  FROM settled AS s WHERE s.is_published`;

const completeText = `WITH settled AS (
    UPDATE retail_messages SET status = $4, result = $5, error_condition = $6, fault = $7,
      response = $8, settled_at = $1
    WHERE organization_id = $2 AND message_id = $3 AND status IN ('Waiting', 'Sent')
    RETURNING organization_id, message_id, is_published
  ), published AS (${publishText})
  SELECT message_id FROM settled`;

/** Ends the messages of processes that died in between. */
const expireText = `WITH due AS (
    SELECT organization_id, message_id FROM retail_messages
    WHERE status = 'Waiting' AND due_at < $2 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
  ), settled AS (
    UPDATE retail_messages AS m SET status = 'Failed', fault = 'timeout', settled_at = $1
    FROM due WHERE m.organization_id = due.organization_id AND m.message_id = due.message_id
    RETURNING m.organization_id, m.message_id, m.is_published
  ), published AS (${publishText})
  SELECT message_id FROM settled`;

const deleteText = `DELETE FROM retail_messages WHERE (organization_id, message_id) IN (
    SELECT organization_id, message_id FROM retail_messages
    WHERE created_at < $1 ORDER BY created_at LIMIT $2)
  RETURNING message_id`;

const findText = `SELECT message_id, service_id, sale_id, category, status, result, error_condition,
    fault, response, created_at, due_at, settled_at
  FROM retail_messages
  WHERE organization_id = $1 AND physical_device_id = $2 AND service_id = $3
    AND sale_id = coalesce($4, sale_id) AND created_at >= $5
    AND merchant_id = coalesce($6, merchant_id) AND store_id = coalesce($7, store_id)
  ORDER BY created_at DESC LIMIT 1`;

const findCompletedText = `SELECT organization_id, message_id FROM retail_messages
  WHERE message_id = ANY ($1::uuid[]) AND organization_id = ANY ($2::uuid[])
    AND status <> 'Waiting'`;

const encryptionContextOf = ({ organizationId, messageId }: MessageKey) =>
  `${organizationId}|${messageId}`;

export type MessageStore = ReturnType<typeof createMessageStore>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly masterKey: Buffer;
};

/** @example const store = createMessageStore({ database, clock, ids, masterKey }); */
export function createMessageStore({ database, clock, ids, masterKey }: Deps) {
  const key = deriveKey(masterKey, 'retail messages');
  const now = () => isoTime(clock.now());
  const oldest = () => isoTime(clock.now() - serviceIdRetentionMs);

  function toRetailMessage(
    messageKey: MessageKey,
    tsn: string,
    { response, createdAt, dueAt, settledAt, ...message }: StoredMessage,
  ): RetailMessage {
    const text =
      response && decryptBytes(key, response, encryptionContextOf(messageKey)).toString();
    return {
      ...message,
      tsn,
      ...defined({
        response: text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>),
      }),
      createdAt: isoTime(createdAt),
      dueAt: isoTime(dueAt),
      ...defined({ settledAt: settledAt === undefined ? undefined : isoTime(settledAt) }),
    };
  }

  return {
    /**
     * Stores a message before it is sent; undefined if its SaleID and ServiceID were used before.
     */
    async create(message: NewMessage): Promise<MessageKey | undefined> {
      const { terminal, hasResponse } = message;
      const { organizationId } = terminal;
      const messageId = ids.uuid();
      const rows = await database.query(createText, [
        organizationId,
        terminal.physicalDeviceId,
        message.serviceId,
        message.saleId,
        messageId,
        terminal.merchantId,
        terminal.storeId,
        terminal.logicalDeviceId,
        message.category,
        message.isPublished && hasResponse,
        hasResponse ? 'Waiting' : 'Sent',
        now(),
        isoTime(message.dueAt),
        hasResponse ? null : now(),
        oldest(),
      ]);
      return rows.length === 0 ? undefined : { organizationId, messageId };
    },

    /**
     * Stores the final state once; later calls change nothing. For a message without an answer, the
     * only final state is a failure to send it.
     */
    async complete(messageKey: MessageKey, outcome: MessageOutcome): Promise<void> {
      const { organizationId, messageId } = messageKey;
      const columns =
        'fault' in outcome
          ? ['Failed', null, null, outcome.fault, null]
          : [
              'Answered',
              outcome.result ?? null,
              outcome.errorCondition ?? null,
              null,
              encryptBytes(key, Buffer.from(outcome.text), encryptionContextOf(messageKey)),
            ];
      await database.query(completeText, [now(), organizationId, messageId, ...columns]);
    },

    /**
     * A message stays visible at the store where the terminal was then, even after the terminal
     * moves.
     */
    async find(
      {
        organizationId,
        physicalDeviceId,
        tsn,
      }: Pick<AssignedTerminal, 'organizationId' | 'physicalDeviceId' | 'tsn'>,
      { serviceId, saleId }: { readonly serviceId: string; readonly saleId?: string | undefined },
      { merchantId, storeId }: MessageScope,
    ): Promise<RetailMessage | undefined> {
      const values = [
        organizationId,
        physicalDeviceId,
        serviceId,
        saleId ?? null,
        oldest(),
        merchantId ?? null,
        storeId ?? null,
      ];
      const [message] = toRecords<StoredMessage>(await database.query(findText, values));
      if (message === undefined) return undefined;
      return toRetailMessage({ organizationId, messageId: message.messageId }, tsn, message);
    },

    /** Returns those messages that have reached their final state. */
    async findCompleted(messageKeys: readonly MessageKey[]): Promise<readonly MessageKey[]> {
      const rows = await database.query(findCompletedText, [
        messageKeys.map(({ messageId }) => messageId),
        messageKeys.map(({ organizationId }) => organizationId),
      ]);
      return toRecords(rows);
    },

    /**
     * Ends the messages that were due before the given time.
     *
     * @returns the number of ended messages
     */
    expireOverdue: async (dueBefore: number, limit: number): Promise<number> =>
      (await database.query(expireText, [now(), isoTime(dueBefore), limit])).length,

    /** @returns the number of deleted messages */
    deleteOld: async (limit: number): Promise<number> =>
      (await database.query(deleteText, [oldest(), limit])).length,
  };
}

type EventRecord = { outboxId: string; merchantId: string; [member: string]: unknown };

const readEventDataText = `SELECT r.outbox_id, m.message_id, m.merchant_id, m.store_id, m.logical_device_id AS device_id,
    m.sale_id, m.service_id, m.category, m.status, m.result, m.error_condition, m.fault
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, message_id, outbox_id)
  JOIN retail_messages AS m ON m.organization_id = r.organization_id
    AND m.message_id = r.message_id`;

/** Reads the data of a batch with one query. */
export const retailEvents: OutboxEventMapper = {
  prefix: 'retail.',
  async read(rows, trx) {
    const values = [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.subjectId),
      rows.map((row) => row.outboxId),
    ];
    const events = toRecords<EventRecord>(await trx.query(readEventDataText, values));
    return new Map(
      events.map(({ outboxId, merchantId, ...data }) => [outboxId, { merchantId, data }]),
    );
  },
};
