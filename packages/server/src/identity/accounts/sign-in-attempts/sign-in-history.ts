// The history of successful and failed sign-ins: one record for each attempt, listed by user.
import {
  type Clock,
  type Database,
  type Ids,
  isoTime,
  toRecords,
} from '../../../platform/index.ts';
import type {
  AttemptOrigin,
  AuthenticationMethod,
  SignInOutcome,
  SignInRecordKind,
} from '../types.ts';

const maxUserAgentLength = 200;
const maxNameLength = 128;
const maxPageSize = 200;

export type SignInRecord = {
  readonly recordId: string;
  readonly attemptedAt: number;
  readonly kind: SignInRecordKind;
  readonly outcome: SignInOutcome;
  readonly methods: readonly AuthenticationMethod[];
  readonly clientId?: string | undefined;
  readonly address?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly requestId?: string | undefined;
};

export type NewSignInRecord = {
  readonly organizationId: string;
  /** Missing if no user has the name. */
  readonly userId?: string | undefined;
  readonly kind: SignInRecordKind;
  readonly outcome: SignInOutcome;
  readonly methods: readonly AuthenticationMethod[];
  readonly origin: AttemptOrigin;
};

export type SignInHistory = ReturnType<typeof createSignInHistory>;

export function createSignInHistory(database: Database, clock: Clock, ids: Ids) {
  return {
    async record(record: NewSignInRecord): Promise<void> {
      const { clientId, address, userAgent, requestId } = originColumns(record.origin);
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

    /** Newest first; `after` is the last record of the previous page. */
    async list(
      { organizationId, userId }: { readonly organizationId: string; readonly userId: string },
      { limit, after }: { readonly limit: number; readonly after?: string | undefined },
    ): Promise<SignInRecord[]> {
      const rows = await database.query(
        `SELECT record_id, at AS attempted_at, kind, outcome, methods, client_id, address, user_agent, request_id
         FROM sign_in_records
         WHERE organization_id = $1 AND user_id = $2 AND ($3::uuid IS NULL OR record_id < $3)
         ORDER BY record_id DESC LIMIT $4`,
        [organizationId, userId, after ?? null, Math.min(limit, maxPageSize)],
      );
      return toRecords(rows);
    },
  };
}

/** Texts from the client, shortened to what the table accepts. */
export function originColumns(origin: AttemptOrigin) {
  return {
    clientId: cleanText(origin.clientId, maxNameLength),
    address: cleanText(origin.address, maxNameLength),
    userAgent: cleanText(origin.userAgent, maxUserAgentLength),
    requestId: cleanText(origin.requestId, maxNameLength),
  };
}

function cleanText(text: string | undefined, maxLength: number): string | null {
  const plain = text?.replace(/\p{Cc}/gu, ' ').slice(0, maxLength);
  return plain?.toWellFormed() ?? null;
}
