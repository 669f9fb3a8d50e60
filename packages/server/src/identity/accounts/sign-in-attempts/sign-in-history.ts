// Who signed in and who failed to: written down for each attempt, read by user, kept for a year.
import { type Clock, type Database, type Ids, isoTime } from '../../../platform/index.ts';
import type { Method, Origin, Outcome, RecordKind } from '../types.ts';

const userAgentChars = 200;
const nameChars = 128;
const pageLimitMax = 200;

export type SignInRecord = {
  readonly recordId: string;
  readonly at: number;
  readonly kind: RecordKind;
  readonly outcome: Outcome;
  readonly methods: readonly Method[];
  readonly clientId?: string | undefined;
  readonly address?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly requestId?: string | undefined;
};

export type NewRecord = {
  readonly organizationId: string;
  /** Left out where nobody has the name. */
  readonly userId?: string | undefined;
  readonly kind: RecordKind;
  readonly outcome: Outcome;
  readonly methods: readonly Method[];
  readonly origin: Origin;
};

type Row = {
  record_id: string;
  at: Date;
  kind: RecordKind;
  outcome: Outcome;
  methods: Method[];
  client_id: string | null;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
};

export type SignIns = ReturnType<typeof createSignIns>;

export function createSignIns(database: Database, clock: Clock, ids: Ids) {
  return {
    async record(record: NewRecord): Promise<void> {
      const { clientId, address, userAgent, requestId } = originTexts(record.origin);
      await database.query(
        `INSERT INTO sign_in_records (organization_id, record_id, at, user_id, client_id, kind,
           outcome, methods, address, user_agent, request_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        [
          record.organizationId,
          ids.uuid(),
          isoTime(clock.now()),
          record.userId ?? null,
          clientId,
          record.kind,
          record.outcome,
          JSON.stringify(record.methods),
          address,
          userAgent,
          requestId,
        ],
      );
    },

    /** The newest first; `after` is the record that the page before ended with. */
    async list(
      { organizationId, userId }: { readonly organizationId: string; readonly userId: string },
      { limit, after }: { readonly limit: number; readonly after?: string | undefined },
    ): Promise<SignInRecord[]> {
      const rows = await database.query<Row>(
        `SELECT record_id, at, kind, outcome, methods, client_id, address, user_agent, request_id
         FROM sign_in_records
         WHERE organization_id = $1 AND user_id = $2 AND ($3::uuid IS NULL OR record_id < $3)
         ORDER BY record_id DESC LIMIT $4`,
        [organizationId, userId, after ?? null, Math.min(limit, pageLimitMax)],
      );
      return rows.map((row) => ({
        recordId: row.record_id,
        at: row.at.getTime(),
        kind: row.kind,
        outcome: row.outcome,
        methods: row.methods,
        clientId: row.client_id ?? undefined,
        address: row.address ?? undefined,
        userAgent: row.user_agent ?? undefined,
        requestId: row.request_id ?? undefined,
      }));
    },
  };
}

/** What others sent, as far as the table takes it. */
export function originTexts(origin: Origin) {
  return {
    clientId: trimmed(origin.clientId, nameChars),
    address: trimmed(origin.address, nameChars),
    userAgent: trimmed(origin.userAgent, userAgentChars),
    requestId: trimmed(origin.requestId, nameChars),
  };
}

function trimmed(text: string | undefined, chars: number): string | null {
  const plain = text?.replace(/\p{Cc}/gu, ' ').slice(0, chars);
  return plain?.toWellFormed() ?? null;
}
