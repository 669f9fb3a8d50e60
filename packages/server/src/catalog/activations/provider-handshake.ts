// Asks providers to accept an activation: a durable job with signed, bounded and repeated calls.

import { defined } from '@switchyard/contract';
import { type Author, platformAuthor } from '../../audit/index.ts';
import {
  createConcurrencyCounter,
  createWebhookHeaders,
  hourMs,
  isoTime,
  type Job,
  minuteMs,
  type Queries,
  type Reschedule,
} from '../../platform/index.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { addSecrets } from '../parameters/merge-levels.ts';
import type { SecretCipher } from '../parameters/secret-encryption.ts';
import type { ParameterValues } from '../parameters/types.ts';
import type { CompletedProviderCall } from '../provider-calls/call-counter.ts';
import { findService, readEncryptedSigningSecret } from '../services/service-sql.ts';
import type { SigningSecrets } from '../services/signing-secrets.ts';
import { type ActivationRecord, findActivation, updateActivation } from './activation-sql.ts';
import { toActivationAuditEntry } from './activation-view.ts';
import { type ProviderAnswer, readProviderAnswer } from './read-provider-answer.ts';
import { type ActivationStep, nextState } from './state-machine.ts';

const requestJobKind = 'catalog-activation';
const deactivationJobKind = 'catalog-deactivation';
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
const limitedRetryMs = 1_000;
const noAnswerReason = 'The provider did not answer.';

export type HandshakeStep = {
  readonly step: ActivationStep;
  readonly parameters?: ParameterValues;
  readonly reason?: string;
};

export type ProviderHandshake = {
  /** Enqueues the request within the transaction of the activation. */
  enqueueRequest(trx: Queries, row: ActivationRecord): Promise<void>;
  /** Enqueues the notice of a deactivation within its transaction. */
  enqueueDeactivationNotice(trx: Queries, row: ActivationRecord): Promise<void>;
  /** Applies a step to a locked row; returns undefined when the state does not allow the step. */
  applyStep(
    trx: Queries,
    row: ActivationRecord,
    step: HandshakeStep,
    author: Author,
  ): Promise<ActivationRecord | undefined>;
};

const auditActions = {
  request: 'activation.requested',
  postpone: 'activation.postponed',
  accept: 'activation.accepted',
  refuse: 'activation.refused',
  deactivate: 'activation.deactivated',
} as const satisfies Record<ActivationStep, string>;

/** The name of each call in the provider's portal. */
const callNames = {
  'service.activation_requested': 'activation',
  'service.deactivated': 'deactivation',
} as const;
type MessageType = keyof typeof callNames;

/** A notice needs no decision: any 2xx answer completes it, even with an unreadable body. */
const isReceived = (type: MessageType, answer: ProviderAnswer): boolean =>
  type === 'service.deactivated' &&
  (answer.step !== 'repeat' || /^(?:status 2|answer_|parameters_)/.test(answer.fault));

/** Every attempt sends the same bytes, because nothing in the message changes before an answer. */
function buildMessage(
  row: ActivationRecord,
  parameters: ParameterValues,
  type: string,
  baseUrl: string,
): string {
  const { organizationId, activationId, merchantId, storeId } = row;
  const at = row.status === 'Inactive' ? (row.decidedAt ?? row.requestedAt) : row.requestedAt;
  const path = `/service-catalog/v1/organizations/${organizationId}/activations/${activationId}`;
  return JSON.stringify({
    type,
    timestamp: isoTime(at),
    data: {
      handshakeId: row.handshakeId,
      organizationId,
      activationId,
      serviceId: row.serviceId,
      release: row.release,
      level: row.level,
      entityId: row.entityId,
      ...defined({ merchantId, storeId }),
      parameters,
      answerUrl: `${baseUrl}${path}/answer`,
    },
  });
}

/** The activation counts as refused when the provider does not answer within a day. */
function toStep(answer: ProviderAnswer): HandshakeStep {
  return answer.step === 'repeat' ? { step: 'refuse', reason: noAnswerReason } : answer;
}

type HandshakeParts = {
  readonly signingSecrets: SigningSecrets;
  readonly secretCipher: SecretCipher;
  onChange(organizationId: string): void;
  /** Receives each call to a provider. */
  onCall(call: CompletedProviderCall): void;
};

/** @example const handshake = createProviderHandshake(deps, { signingSecrets, secretCipher, onChange, onCall }); */
export function createProviderHandshake(
  deps: CatalogDeps,
  { signingSecrets, secretCipher, onChange, onCall }: HandshakeParts,
): ProviderHandshake {
  const { database, clock, jobs, log, audit, calls, baseUrl } = deps;
  const retryDelays = deps.retryDelaysMs ?? defaultRetryDelaysMs;
  const runningCalls = createConcurrencyCounter({ perKey: callsPerServiceMax });

  async function send(
    row: ActivationRecord,
    type: MessageType,
    id: string,
  ): Promise<ProviderAnswer> {
    const service = await findService(database, row.organizationId, row.serviceId);
    const secret = await readEncryptedSigningSecret(database, row.serviceId);
    const url = service?.published?.['spiUrl'];
    // The provider has removed its address, so no server can refuse: the activation is accepted.
    if (typeof url !== 'string' || secret === undefined) return { step: 'accept' };
    const parameters = addSecrets(row.parameters, secretCipher.decrypt(row, row.secretsSealed));
    const body = buildMessage(row, parameters, type, baseUrl);
    const signers = signingSecrets.toSigningKeys(signingSecrets.decrypt(row.serviceId, secret));
    const headers = createWebhookHeaders({ id, sentAt: clock.now(), body, ...signers });
    const result = await calls.post(url, { headers, body });
    const answer = readProviderAnswer(result);
    const fault = answer.step === 'repeat' && !isReceived(type, answer) ? answer.fault : undefined;
    const isAnswered = fault === undefined;
    onCall({ serviceId: row.serviceId, call: callNames[type], isAnswered, ms: result.ms, fault });
    return answer;
  }

  const applyStep: ProviderHandshake['applyStep'] = async (
    trx,
    row,
    { step, parameters, reason },
    author,
  ) => {
    const status = nextState(row.status, step);
    if (status === undefined) return undefined;
    const now = clock.now();
    const isDecided = step !== 'request' && step !== 'postpone';
    const coversExisting = status === 'Active' && row.includesExisting;
    const after = await updateActivation(
      trx,
      {
        ...row,
        status,
        providerParameters: parameters ?? (step === 'request' ? undefined : row.providerParameters),
        reason,
        decidedAt: isDecided ? now : row.decidedAt,
        coversAt: coversExisting ? now : row.coversAt,
      },
      isoTime(now),
    );
    const { organizationId, merchantId } = row;
    await audit.record(trx, {
      organizationId,
      ...author,
      action: auditActions[step],
      entity: { type: 'activation', id: row.activationId, ...defined({ merchantId }) },
      before: toActivationAuditEntry(row),
      after: toActivationAuditEntry(after),
    });
    return after;
  };

  /** Returns the activation if the job still applies to it; locks the row when `trx` is given. */
  async function findCurrentActivation(job: Job, status: string, trx?: Queries) {
    const lock = trx === undefined ? '' : 'FOR UPDATE';
    const id = String(job.payload['activationId']);
    const row = await findActivation(
      trx ?? database,
      { organizationId: job.organizationId },
      id,
      lock,
    );
    const isSame = row?.handshakeId === job.payload['handshakeId'] && row?.status === status;
    return isSame ? row : undefined;
  }

  async function runWithinLimit(
    job: Job,
    status: string,
    work: (row: ActivationRecord) => Promise<Reschedule | undefined>,
  ): Promise<Reschedule | undefined> {
    const row = await findCurrentActivation(job, status);
    if (row === undefined) return undefined;
    const endCall = runningCalls.tryBegin(row.serviceId);
    if (typeof endCall === 'string') {
      return { retryAt: clock.now() + limitedRetryMs, countAttempt: false };
    }
    try {
      return await work(row);
    } finally {
      endCall();
    }
  }

  function scheduleRetry(job: Job, answer: ProviderAnswer): Reschedule | undefined {
    if (answer.step !== 'repeat') return undefined;
    const logFields = { activationId: job.payload['activationId'], fault: answer.fault };
    log.warn(logFields, 'a provider did not answer');
    const delay = retryDelays[job.attempts];
    return delay === undefined ? undefined : { retryAt: clock.now() + delay };
  }

  jobs.handle(requestJobKind, (job) =>
    runWithinLimit(job, 'Requested', async (row) => {
      const answer = await send(row, 'service.activation_requested', row.handshakeId);
      const retry = scheduleRetry(job, answer);
      if (retry !== undefined) return retry;
      await database.transaction(async (trx) => {
        // The provider may have answered through the API since, or the administrator deactivated
        // it.
        const locked = await findCurrentActivation(job, 'Requested', trx);
        if (locked !== undefined) await applyStep(trx, locked, toStep(answer), platformAuthor);
      });
      onChange(row.organizationId);
      return undefined;
    }),
  );

  jobs.handle(deactivationJobKind, (job) =>
    runWithinLimit(job, 'Inactive', async (row) => {
      const id = String(job.payload['noticeId']);
      const answer = await send(row, 'service.deactivated', id);
      return isReceived('service.deactivated', answer) ? undefined : scheduleRetry(job, answer);
    }),
  );

  return {
    applyStep,
    enqueueRequest: (trx, { organizationId, activationId, handshakeId }) =>
      jobs.enqueue(
        {
          organizationId,
          kind: requestJobKind,
          payload: { activationId, handshakeId },
        },
        trx,
      ),
    enqueueDeactivationNotice: (trx, { organizationId, activationId, handshakeId }) =>
      jobs.enqueue(
        {
          organizationId,
          kind: deactivationJobKind,
          payload: {
            activationId,
            handshakeId,
            noticeId: deps.ids.uuid(),
          },
        },
        trx,
      ),
  };
}
