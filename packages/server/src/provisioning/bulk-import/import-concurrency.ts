// Limits the imports that a process has open, so that a slow client does not stop others.
import { throwProblem } from '@switchyard/contract';
import type { CallerScope } from '../resources/caller-scope.ts';

/** Each working import uses a database connection while it processes a chunk. */
const workingMax = 4;
/** Each open import holds some megabytes of its body and of its response. */
const openMax = 16;
/**
 * One organisation cannot use all imports, and one merchant not all of its organisation's share.
 */
const openOfOrganizationMax = 4;
const openOfMerchantMax = 2;
const fullRetryMs = 2000;

type Owner = Pick<CallerScope, 'organizationId' | 'merchantId'>;

function throwOverloaded(detail: string): never {
  return throwProblem('overloaded', detail, { retryAfterMs: fullRetryMs });
}

/** @example const concurrency = createImportConcurrency(); yield* concurrency.limitOpenImports(scope, response); */
export function createImportConcurrency() {
  const openByOwner = new Map<string, number>();
  const waiting: (() => void)[] = [];
  let open = 0;
  let working = 0;

  const limitsOf = ({ organizationId, merchantId }: Owner): [string, number][] => [
    [organizationId, openOfOrganizationMax],
    ...(merchantId === undefined ? [] : [[merchantId, openOfMerchantMax] as [string, number]]),
  ];

  function enter(owner: Owner): void {
    for (const [id, max] of limitsOf(owner)) {
      if ((openByOwner.get(id) ?? 0) >= max)
        throwOverloaded(`You already have ${max} open imports; wait until one ends.`);
    }
    if (open >= openMax)
      throwOverloaded(`The server already has ${openMax} open imports; try again later.`);
    open += 1;
    for (const [id] of limitsOf(owner)) openByOwner.set(id, (openByOwner.get(id) ?? 0) + 1);
  }

  function leave(owner: Owner): void {
    open -= 1;
    for (const [id] of limitsOf(owner)) {
      const openLeft = (openByOwner.get(id) ?? 0) - 1;
      if (openLeft > 0) openByOwner.set(id, openLeft);
      else openByOwner.delete(id);
    }
  }

  return {
    /** Occupies a place from the first line to the last, even if the client is slow. */
    async *limitOpenImports(owner: Owner, answers: AsyncGenerator<string>): AsyncGenerator<string> {
      enter(owner);
      try {
        yield* answers;
      } finally {
        leave(owner);
      }
    },

    /** Runs one chunk as soon as a place is free, in the order of arrival. */
    async limitWorkingChunks<Result>(chunk: () => Promise<Result>): Promise<Result> {
      if (working >= workingMax) await new Promise<void>((resolve) => waiting.push(resolve));
      else working += 1;
      try {
        return await chunk();
      } finally {
        const next = waiting.shift();
        // The place passes directly to the next waiting chunk, so that no later one can take it.
        if (next === undefined) working -= 1;
        else next();
      }
    },
  };
}
