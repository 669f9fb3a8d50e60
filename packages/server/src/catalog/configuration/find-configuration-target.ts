// Finds the entity to configure in the caller's scope, and the release in force there.
import { type ActivationLevel, throwProblem } from '@switchyard/contract';
import { isUuid, type Queries } from '../../platform/index.ts';
import type { EntityPath } from '../activations/activation-sql.ts';
import { findEntity } from '../activations/find-entity.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { requireNonDeviceCaller } from '../infrastructure/request-checks.ts';
import type { ReleaseParameters } from '../parameters/types.ts';
import { findReleaseInForce } from './configuration-sql.ts';
import type { ReadReleases } from './release-cache.ts';

export type EntityTarget = { readonly level: ActivationLevel; readonly entityId: string };

export type ConfigurationTarget = EntityTarget & { readonly serviceId: string };

export type FoundTarget = { readonly entity: EntityPath; readonly release: ReleaseParameters };

export type TargetFinder = {
  findEntity(scope: CallerScope, target: EntityTarget): Promise<EntityPath>;
  find(scope: CallerScope, target: ConfigurationTarget): Promise<FoundTarget>;
};

function throwServiceNotFound(): never {
  return throwProblem('service_not_found', 'No service that you may see has this identifier.');
}

export function throwNotSubscribed(): never {
  return throwProblem(
    'service_not_subscribed',
    'The organisation has not subscribed to the service. Subscribe to a package that contains it.',
  );
}

/** @example const { entity, release } = await createTargetFinder(provisioning, run, releases).find(scope, target); */
export function createTargetFinder(
  provisioning: CatalogDeps['provisioning'],
  queries: Queries,
  releases: ReadReleases,
): TargetFinder {
  async function findEntityInScope(scope: CallerScope, target: EntityTarget): Promise<EntityPath> {
    requireNonDeviceCaller(scope);
    return findEntity(provisioning, scope, target);
  }
  return {
    findEntity: findEntityInScope,
    async find(scope, target) {
      const { organizationId } = scope;
      const isServiceId = isUuid(target.serviceId);
      const [entity, service] = await Promise.all([
        findEntityInScope(scope, target),
        isServiceId ? findReleaseInForce(queries, organizationId, target.serviceId) : undefined,
      ]);
      if (service === undefined) return throwServiceNotFound();
      if (service.release === 0) throwProblem('service_state', 'The service is not published.');
      if (!service.isSubscribed) throwNotSubscribed();
      const { serviceId, release } = service;
      const [inForce] = await releases([{ serviceId, release }]);
      return { entity, release: inForce ?? throwServiceNotFound() };
    },
  };
}
