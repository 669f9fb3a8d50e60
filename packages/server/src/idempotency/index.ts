// Claims Idempotency-Keys, stores responses encrypted so that only the same caller with the same key can read them,
// and deletes expired keys.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { throwProblem } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import type {
  ClaimedKey,
  ExistingKey,
  IdempotencyKeyRequest,
  IdempotencyKeys,
  StoredResponse,
} from '../http/index.ts';
import {
  type CleanupJob,
  type Clock,
  dayMs,
  decryptBytes,
  deriveKey,
  encryptBytes,
  type Ids,
  isoTime,
  type Queries,
} from '../platform/index.ts';
import { createKeyStore, type KeyRow, type KeyStore } from './idempotency-keys-sql.ts';

/** Clients may retry for this time. */
const retentionMs = dayMs;
/** A key can be released between the claim and the query; after so many attempts it counts as running. */
const maxClaimAttempts = 3;

type Claim = Parameters<KeyStore['remove']>[0];

type IdempotencyKeysDeps = {
  readonly store: KeyStore;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly masterKey: Buffer;
};

/** @example const keys = createIdempotencyKeys({ store, clock, ids, masterKey }); await keys.claim(request); */
export function createIdempotencyKeys({
  store,
  clock,
  ids,
  masterKey,
}: IdempotencyKeysDeps): IdempotencyKeys {
  const digestKey = deriveKey(masterKey, 'idempotency prints');
  const digestOf = (text: string) => createHmac('sha256', digestKey).update(text).digest();
  const isSame = (stored: Buffer, text: string) => timingSafeEqual(stored, digestOf(text));

  /** The encryption key contains the client's key, which is not in the database. */
  function responseSealOf({ organizationId, callerId, key }: IdempotencyKeyRequest) {
    const sealKey = deriveKey(masterKey, `idempotent answer ${callerId} ${key}`);
    const context = `idempotency ${organizationId} ${callerId}`;
    return {
      close: (answer: StoredResponse) =>
        encryptBytes(sealKey, Buffer.from(JSON.stringify(answer)), context),
      open: (sealed: Buffer) =>
        JSON.parse(decryptBytes(sealKey, sealed, context).toString()) as StoredResponse,
    };
  }

  function existingKey(request: IdempotencyKeyRequest, row: KeyRow): ExistingKey {
    if (!isSame(row.print, request.requestText)) return { state: 'Reused' };
    const { answer, content } = row;
    if (answer === null) {
      const isHeld = row.heldUntil.getTime() > clock.now();
      return { state: isHeld ? 'Running' : 'Interrupted' };
    }
    return {
      state: 'Completed',
      response: responseSealOf(request).open(answer),
      matchesContent: (text) => content !== null && isSame(content, text),
    };
  }

  function claimedKey(request: IdempotencyKeyRequest, claim: Claim): ClaimedKey {
    return {
      complete: (answer, content) =>
        store.keep(
          claim,
          responseSealOf(request).close(answer),
          content === undefined ? null : digestOf(content),
        ),
      release: () => store.remove(claim),
      abandon: () => store.abandon(claim, isoTime(clock.now())),
    };
  }

  async function tryClaim(request: IdempotencyKeyRequest, claim: Claim) {
    for (let attempt = 0; attempt < maxClaimAttempts; attempt += 1) {
      const now = clock.now();
      const isOurs = await store.claim(claim, {
        print: digestOf(request.requestText),
        at: isoTime(now),
        heldUntil: isoTime(now + request.claimMs),
        endedBefore: isoTime(now - retentionMs),
      });
      if (isOurs) return { state: 'Claimed', key: claimedKey(request, claim) } as const;
      const row = await store.find(claim);
      // A statement that was repeated after a lost connection finds its own row.
      if (row?.claimId === claim.claimId) {
        return { state: 'Claimed', key: claimedKey(request, claim) } as const;
      }
      if (row !== undefined) return existingKey(request, row);
    }
    return { state: 'Running' } as const;
  }

  return {
    async claim(request) {
      const { organizationId, callerId, key } = request;
      if (holdsCardNumber(key)) {
        throwProblem(
          'client_id_invalid',
          'The Idempotency-Key contains digits that look like a card number; use a UUID.',
        );
      }
      const hash = digestOf(`${callerId}\n${key}`);
      const claim = { organizationId, claimId: ids.uuid(), hash };
      try {
        return await tryClaim(request, claim);
      } catch (error) {
        // The claim may be stored nevertheless. The first error is reported, not that of the removal.
        await Promise.allSettled([store.remove(claim)]);
        throw error;
      }
    },
  };
}

const deleteEveryMs = 300_000;
const keysAtOnce = 1_000;

type IdempotencyDeps = {
  readonly database: Queries;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly masterKey: Buffer;
};

type Idempotency = {
  readonly keys: IdempotencyKeys;
  readonly cleanupJob: CleanupJob;
};

/** @example const { keys } = createIdempotency({ database, clock, ids, masterKey }); */
export function createIdempotency(deps: IdempotencyDeps): Idempotency {
  const { database, clock } = deps;
  const store = createKeyStore(database);
  return {
    keys: createIdempotencyKeys({ ...deps, store }),
    cleanupJob: {
      data: 'idempotency keys',
      intervalMs: deleteEveryMs,
      async deleteBatch() {
        const before = isoTime(clock.now() - retentionMs);
        return (await store.sweep(before, keysAtOnce)) === keysAtOnce;
      },
    },
  };
}
