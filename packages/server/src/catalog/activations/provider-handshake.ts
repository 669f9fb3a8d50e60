// Asks providers to accept an activation: a durable job with signed, bounded and repeated calls.
import type { Kysely } from 'kysely';
import { type Author, platformAuthor } from '../../audit/index.ts';
import { createWebhookHeaders, isoTime, type Job, type Reschedule } from '../../platform/index.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { runIn, runOn } from '../infrastructure/statement-runner.ts';
import { withSecrets } from '../parameters/merge-levels.ts';
import type { SecretBox } from '../parameters/secret-encryption.ts';
import type { NotedCall } from '../provider-calls/call-counter.ts';
import { findService, readSecret } from '../services/service-sql.ts';
import type { SigningSecrets } from '../services/signing-secrets.ts';
import {
  type ActivationRow,
  findActivation,
  type Values,
  writeActivation,
} from './activation-sql.ts';
import { auditedActivation } from './activation-view.ts';
import { type ProviderAnswer, readAnswer } from './read-provider-answer.ts';
import { nextState, type Step } from './state-machine.ts';

const requestKind = 'catalog-activation';
const noticeKind = 'catalog-deactivation';
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** About one day in total; after that, the activation counts as refused. */
const defaultRetryDelaysMs = [
  5_000,
  30_000,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
  8 * hourMs,
];
/**
 * At most this many jobs call one service at a time, so that a slow provider does not block others.
 */
const callsPerServiceMax = 2;
const busyPauseMs = 1_000;
const unreached = 'The provider did not answer.';

export type Settlement = {
  readonly step: Step;
  readonly parameters?: Values;
  readonly reason?: string;
};

export type Handshake = {
  /** Enqueues the request within the transaction of the activation. */
  request(trx: Kysely<unknown>, row: ActivationRow): Promise<void>;
  /** Enqueues the notice of a deactivation within its transaction. */
  notify(trx: Kysely<unknown>, row: ActivationRow): Promise<void>;
  /** Applies a step to a locked row; returns undefined when the state does not allow the step. */
  settle(
    trx: Kysely<unknown>,
    row: ActivationRow,
    settlement: Settlement,
    author: Author,
  ): Promise<ActivationRow | undefined>;
};

const actions = {
  request: 'activation.requested',
  postpone: 'activation.postponed',
  accept: 'activation.accepted',
  refuse: 'activation.refused',
  deactivate: 'activation.deactivated',
} as const satisfies Record<Step, string>;

/** Counts the calls in progress for each service. */
function createPlaces() {
  const busy = new Map<string, number>();
  return {
    take(serviceId: string): boolean {
      const own = busy.get(serviceId) ?? 0;
      if (own >= callsPerServiceMax) return false;
      busy.set(serviceId, own + 1);
      return true;
    },
    free(serviceId: string): void {
      const own = (busy.get(serviceId) ?? 1) - 1;
      if (own === 0) busy.delete(serviceId);
      else busy.set(serviceId, own);
    },
  };
}

/** The name of each call in the provider's portal. */
const callOf = {
  'service.activation_requested': 'activation',
  'service.deactivated': 'deactivation',
} as const;
type MessageType = keyof typeof callOf;

/** A notice needs no decision: any 2xx answer completes it, even with an unreadable body. */
const isHeard = (type: MessageType, answer: ProviderAnswer): boolean =>
  type === 'service.deactivated' &&
  (answer.step !== 'repeat' || /^(?:status 2|answer_|parameters_)/.test(answer.fault));

/** Every attempt sends the same bytes, because nothing in the message changes before an answer. */
function messageOf(row: ActivationRow, parameters: Values, type: string, baseUrl: string): string {
  const { organization_id: organizationId, activation_id: activationId } = row;
  const at = row.status === 'Inactive' ? (row.decided_at ?? row.requested_at) : row.requested_at;
  const path = `/service-catalog/v1/organizations/${organizationId}/activations/${activationId}`;
  return JSON.stringify({
    type,
    timestamp: isoTime(at.getTime()),
    data: {
      handshakeId: row.handshake_id,
      organizationId,
      activationId,
      serviceId: row.service_id,
      release: row.release,
      level: row.level,
      entityId: row.entity_id,
      ...(row.merchant_id === null ? {} : { merchantId: row.merchant_id }),
      ...(row.store_id === null ? {} : { storeId: row.store_id }),
      parameters,
      answerUrl: `${baseUrl}${path}/answer`,
    },
  });
}

/** The activation counts as refused when the provider does not answer within a day. */
function settlementOf(answer: ProviderAnswer): Settlement {
  return answer.step === 'repeat' ? { step: 'refuse', reason: unreached } : answer;
}

type Parts = {
  readonly secrets: SigningSecrets;
  readonly box: SecretBox;
  onChange(organizationId: string): void;
  /** Receives each call to a provider. */
  onCall(call: NotedCall): void;
};

/** @example const handshake = createHandshake(deps, { secrets, box, onChange, onCall }); */
export function createHandshake(
  deps: CatalogDeps,
  { secrets, box, onChange, onCall }: Parts,
): Handshake {
  const { database, clock, jobs, log, audit, calls, baseUrl } = deps;
  const delays = deps.retryDelaysMs ?? defaultRetryDelaysMs;
  const places = createPlaces();

  async function send(row: ActivationRow, type: MessageType, id: string): Promise<ProviderAnswer> {
    const run = runOn(database);
    const service = await findService(run, row.organization_id, row.service_id);
    const secret = await readSecret(run, row.service_id);
    const url = service?.published?.['spiUrl'];
    // The provider has removed its address, so no server can refuse: the activation is accepted.
    if (typeof url !== 'string' || secret === undefined) return { step: 'accept' };
    const parameters = withSecrets(row.parameters, box.open(row, row.secrets_sealed));
    const body = messageOf(row, parameters, type, baseUrl);
    const signers = secrets.signers(secrets.open(row.service_id, secret));
    const headers = createWebhookHeaders({ id, sentAt: clock.now(), body, ...signers });
    const result = await calls.post(url, { headers, body });
    const answer = readAnswer(result);
    const fault = answer.step === 'repeat' && !isHeard(type, answer) ? answer.fault : undefined;
    const isAnswered = fault === undefined;
    onCall({ serviceId: row.service_id, call: callOf[type], isAnswered, ms: result.ms, fault });
    return answer;
  }

  const settle: Handshake['settle'] = async (trx, row, { step, parameters, reason }, author) => {
    const status = nextState(row.status, step);
    if (status === undefined) return undefined;
    const now = clock.now();
    const isDecided = step !== 'request' && step !== 'postpone';
    const covers = status === 'Active' && row.includes_existing;
    const after = await writeActivation(
      runIn(trx),
      {
        ...row,
        status,
        provider_parameters: parameters ?? (step === 'request' ? null : row.provider_parameters),
        reason: reason ?? null,
        decided_at: isDecided ? new Date(now) : row.decided_at,
        covers_at: covers ? new Date(now) : row.covers_at,
      },
      isoTime(now),
    );
    const { organization_id: organizationId, merchant_id: merchantId } = row;
    await audit.record(trx, {
      organizationId,
      ...author,
      action: actions[step],
      entity: {
        type: 'activation',
        id: row.activation_id,
        ...(merchantId === null ? {} : { merchantId }),
      },
      before: auditedActivation(row),
      after: auditedActivation(after),
    });
    return after;
  };

  /** Returns the activation if the job still applies to it; locks the row when `trx` is given. */
  async function current(job: Job, status: string, trx?: Kysely<unknown>) {
    const run = trx === undefined ? runOn(database) : runIn(trx);
    const lock = trx === undefined ? '' : 'FOR UPDATE';
    const id = String(job.payload['activationId']);
    const row = await findActivation(run, { organizationId: job.organizationId }, id, lock);
    const isSame = row?.handshake_id === job.payload['handshakeId'] && row?.status === status;
    return isSame ? row : undefined;
  }

  async function placed(
    job: Job,
    status: string,
    use: (row: ActivationRow) => Promise<Reschedule | undefined>,
  ): Promise<Reschedule | undefined> {
    const row = await current(job, status);
    if (row === undefined) return undefined;
    if (!places.take(row.service_id)) {
      return { retryAt: clock.now() + busyPauseMs, countAttempt: false };
    }
    try {
      return await use(row);
    } finally {
      places.free(row.service_id);
    }
  }

  function repeated(job: Job, answer: ProviderAnswer): Reschedule | undefined {
    if (answer.step !== 'repeat') return undefined;
    const facts = { activationId: job.payload['activationId'], fault: answer.fault };
    log.warn(facts, 'a provider did not answer');
    const delay = delays[job.attempts];
    return delay === undefined ? undefined : { retryAt: clock.now() + delay };
  }

  jobs.handle(requestKind, (job) =>
    placed(job, 'Requested', async (row) => {
      const answer = await send(row, 'service.activation_requested', row.handshake_id);
      const later = repeated(job, answer);
      if (later !== undefined) return later;
      await database.transaction(async (trx) => {
        // The provider may have answered through the API since, or the administrator deactivated
        // it.
        const locked = await current(job, 'Requested', trx);
        if (locked !== undefined) await settle(trx, locked, settlementOf(answer), platformAuthor);
      });
      onChange(row.organization_id);
      return undefined;
    }),
  );

  jobs.handle(noticeKind, (job) =>
    placed(job, 'Inactive', async (row) => {
      const id = String(job.payload['noticeId']);
      const answer = await send(row, 'service.deactivated', id);
      return isHeard('service.deactivated', answer) ? undefined : repeated(job, answer);
    }),
  );

  return {
    settle,
    request: (trx, { organization_id: organizationId, activation_id, handshake_id }) =>
      jobs.enqueue(
        {
          organizationId,
          kind: requestKind,
          payload: { activationId: activation_id, handshakeId: handshake_id },
        },
        trx,
      ),
    notify: (trx, { organization_id: organizationId, activation_id, handshake_id }) =>
      jobs.enqueue(
        {
          organizationId,
          kind: noticeKind,
          payload: {
            activationId: activation_id,
            handshakeId: handshake_id,
            noticeId: deps.ids.uuid(),
          },
        },
        trx,
      ),
  };
}
