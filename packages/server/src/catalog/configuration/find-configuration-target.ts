// Finds the entity to configure in the caller's scope, and the release in force there.
import { type ActivationLevel, throwProblem } from '@switchyard/contract';
import type { Place } from '../activations/activation-sql.ts';
import { findPlace } from '../activations/find-entity.ts';
import type { Scope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { isUuid, refuseDevices } from '../infrastructure/request-checks.ts';
import type { Run } from '../infrastructure/statement-runner.ts';
import type { Release } from '../parameters/types.ts';
import { findInForce } from './configuration-sql.ts';
import type { Releases } from './release-cache.ts';

export type EntityTarget = { readonly level: ActivationLevel; readonly entityId: string };

export type Target = EntityTarget & { readonly serviceId: string };

export type Found = { readonly place: Place; readonly release: Release };

export type Finder = {
  place(scope: Scope, target: EntityTarget): Promise<Place>;
  find(scope: Scope, target: Target): Promise<Found>;
};

function refuseUnknown(): never {
  return throwProblem(
    'service_not_found',
    'The catalogue shows you no service of this identifier.',
  );
}

export function refuseUnsubscribed(): never {
  return throwProblem('service_not_subscribed', 'No package of a subscription holds the service.');
}

/** @example const { place, release } = await createFinder(provisioning, run, releases).find(scope, target); */
export function createFinder(
  provisioning: CatalogDeps['provisioning'],
  run: Run,
  releases: Releases,
): Finder {
  async function place(scope: Scope, target: EntityTarget): Promise<Place> {
    refuseDevices(scope);
    return findPlace(provisioning, scope, target);
  }
  return {
    place,
    async find(scope, target) {
      const { organizationId } = scope;
      const known = isUuid(target.serviceId);
      const [found, service] = await Promise.all([
        place(scope, target),
        known ? findInForce(run, organizationId, target.serviceId) : undefined,
      ]);
      if (service === undefined) return refuseUnknown();
      if (service.release === 0) throwProblem('service_state', 'The service is not published.');
      if (!service.is_subscribed) refuseUnsubscribed();
      const { service_id: serviceId, release } = service;
      const [inForce] = await releases([{ serviceId, release }]);
      return { place: found, release: inForce ?? refuseUnknown() };
    },
  };
}
