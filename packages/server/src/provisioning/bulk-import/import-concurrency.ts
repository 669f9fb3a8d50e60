// Limits the imports that a process has open, so that a slow client does not stop others.
import { throwProblem } from '@switchyard/contract';
import { createConcurrencyCounter, createConcurrencyLimit } from '../../platform/index.ts';
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
  const openByOrganization = createConcurrencyCounter({
    perKey: openOfOrganizationMax,
    total: openMax,
  });
  const openByMerchant = createConcurrencyCounter({ perKey: openOfMerchantMax });
  const chunkLimit = createConcurrencyLimit({ maxConcurrent: workingMax });

  function throwOwnLimit(max: number): never {
    return throwOverloaded(`You already have ${max} open imports; wait until one ends.`);
  }

  function enter({ organizationId, merchantId }: Owner): () => void {
    const leaveMerchant = merchantId === undefined ? () => {} : openByMerchant.tryBegin(merchantId);
    if (typeof leaveMerchant === 'string') return throwOwnLimit(openOfMerchantMax);
    const leaveOrganization = openByOrganization.tryBegin(organizationId);
    if (typeof leaveOrganization === 'string') {
      leaveMerchant();
      if (leaveOrganization === 'KeyLimit') return throwOwnLimit(openOfOrganizationMax);
      return throwOverloaded(`The server already has ${openMax} open imports; try again later.`);
    }
    return () => {
      leaveMerchant();
      leaveOrganization();
    };
  }

  return {
    /** Occupies a place from the first line to the last, even if the client is slow. */
    async *limitOpenImports(owner: Owner, answers: AsyncGenerator<string>): AsyncGenerator<string> {
      const leave = enter(owner);
      try {
        yield* answers;
      } finally {
        leave();
      }
    },

    /** Runs one chunk as soon as a place is free, in the order of arrival. */
    limitWorkingChunks: chunkLimit.run,
  };
}
