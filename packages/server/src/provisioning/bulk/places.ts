// How many imports a process has open, and how many of them work at once: nobody's slow line stops others.
import { refuse } from '@switchyard/contract';
import type { Scope } from '../scope.ts';

/** Each holds a connection of the database while a chunk of it is looked at and written. */
const workingMax = 4;
/** Each holds some megabytes of its body and of its answer. */
const openMax = 16;
/** So that no organisation ever has all of them, and no merchant all of its organisation's. */
const ofOrganizationMax = 4;
const ofMerchantMax = 2;
const fullRetryMs = 2000;

type Owner = Pick<Scope, 'organizationId' | 'merchantId'>;

function refuseFull(detail: string): never {
  return refuse('overloaded', detail, { retryAfterMs: fullRetryMs });
}

/** @example const places = createPlaces(); yield* places.open(scope, answers); */
export function createPlaces() {
  const openOf = new Map<string, number>();
  const waiting: (() => void)[] = [];
  let open = 0;
  let working = 0;

  const limitsOf = ({ organizationId, merchantId }: Owner): [string, number][] => [
    [organizationId, ofOrganizationMax],
    ...(merchantId === undefined ? [] : [[merchantId, ofMerchantMax] as [string, number]]),
  ];

  function enter(owner: Owner): void {
    for (const [id, max] of limitsOf(owner)) {
      if ((openOf.get(id) ?? 0) >= max) refuseFull(`You have ${max} imports open already.`);
    }
    if (open >= openMax) refuseFull(`The process has ${openMax} imports open already.`);
    open += 1;
    for (const [id] of limitsOf(owner)) openOf.set(id, (openOf.get(id) ?? 0) + 1);
  }

  function leave(owner: Owner): void {
    open -= 1;
    for (const [id] of limitsOf(owner)) {
      const left = (openOf.get(id) ?? 0) - 1;
      if (left > 0) openOf.set(id, left);
      else openOf.delete(id);
    }
  }

  return {
    /** From the first line to the last, however slowly a body comes and an answer is read. */
    async *open(owner: Owner, answers: AsyncGenerator<string>): AsyncGenerator<string> {
      enter(owner);
      try {
        yield* answers;
      } finally {
        leave(owner);
      }
    },

    /** One chunk, once there is a place for it: whoever came first is first. */
    async work<Result>(chunk: () => Promise<Result>): Promise<Result> {
      if (working >= workingMax) await new Promise<void>((resolve) => waiting.push(resolve));
      else working += 1;
      try {
        return await chunk();
      } finally {
        const next = waiting.shift();
        // The place goes from hand to hand, so that nobody comes in between.
        if (next === undefined) working -= 1;
        else next();
      }
    },
  };
}
