// Decides whose a key is, and keeps what was answered under it so that nobody but who asked can read it.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { refuse } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import type { AskedKey, HeldKey, IdempotencyKeys, KeptAnswer, UsedKey } from '../http/index.ts';
import { type Clock, deriveKey, type Ids, isoTime, openSealed, seal } from '../platform/index.ts';
import type { KeyRow, KeyStore } from './idempotency-keys-sql.ts';

/** As long as clients may try again. */
export const keptMs = 86_400_000;
/** A key may be let go of between the claim and the look; more often than that it is somebody's. */
const looksMax = 3;

type Claim = Parameters<KeyStore['remove']>[0];

export type KeysDeps = {
  readonly store: KeyStore;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly masterKey: Buffer;
};

/** @example const keys = createKeys({ store, clock, ids, masterKey }); await keys.claim(asked); */
export function createKeys({ store, clock, ids, masterKey }: KeysDeps): IdempotencyKeys {
  const printKey = deriveKey(masterKey, 'idempotency prints');
  const printOf = (text: string) => createHmac('sha256', printKey).update(text).digest();
  const isSame = (kept: Buffer, text: string) => timingSafeEqual(kept, printOf(text));

  /** The client's key is part of it, and is not in the database: a copy of that opens nothing. */
  function sealOf({ organizationId, callerId, key }: AskedKey) {
    const own = deriveKey(masterKey, `idempotent answer ${callerId} ${key}`);
    const place = `idempotency ${organizationId} ${callerId}`;
    return {
      close: (answer: KeptAnswer) => seal(own, Buffer.from(JSON.stringify(answer)), place),
      open: (sealed: Buffer) => JSON.parse(openSealed(own, sealed, place).toString()) as KeptAnswer,
    };
  }

  function usedBy(asked: AskedKey, row: KeyRow): UsedKey {
    if (!isSame(row.print, asked.asked)) return { state: 'Reused' };
    const { answer, content } = row;
    if (answer === null) {
      const isHeld = row.heldUntil.getTime() > clock.now();
      return { state: isHeld ? 'Running' : 'Interrupted' };
    }
    return {
      state: 'Answered',
      answer: sealOf(asked).open(answer),
      isContent: (text) => content !== null && isSame(content, text),
    };
  }

  function heldBy(asked: AskedKey, claim: Claim): HeldKey {
    return {
      keep: (answer, content) =>
        store.keep(
          claim,
          sealOf(asked).close(answer),
          content === undefined ? null : printOf(content),
        ),
      release: () => store.remove(claim),
      abandon: () => store.abandon(claim, isoTime(clock.now())),
    };
  }

  async function looked(asked: AskedKey, claim: Claim) {
    for (let look = 0; look < looksMax; look += 1) {
      const now = clock.now();
      const isOurs = await store.claim(claim, {
        print: printOf(asked.asked),
        at: isoTime(now),
        heldUntil: isoTime(now + asked.heldMs),
        endedBefore: isoTime(now - keptMs),
      });
      if (isOurs) return { state: 'Held', held: heldBy(asked, claim) } as const;
      const row = await store.find(claim);
      // A statement that was repeated over a lost connection finds its own row.
      if (row?.claimId === claim.claimId) {
        return { state: 'Held', held: heldBy(asked, claim) } as const;
      }
      if (row !== undefined) return usedBy(asked, row);
    }
    return { state: 'Running' } as const;
  }

  return {
    async claim(asked) {
      const { organizationId, callerId, key } = asked;
      if (holdsCardNumber(key)) {
        refuse('client_id_invalid', 'The Idempotency-Key holds what looks like a card number.');
      }
      const hash = printOf(`${callerId}\n${key}`);
      const claim = { organizationId, claimId: ids.uuid(), hash };
      try {
        return await looked(asked, claim);
      } catch (error) {
        // It may stand all the same, and nobody would let go of it. What is told is the first fault.
        await Promise.allSettled([store.remove(claim)]);
        throw error;
      }
    },
  };
}
