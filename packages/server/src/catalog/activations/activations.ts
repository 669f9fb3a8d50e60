// Activates and deactivates services at a level, and accepts later answers of providers.
import {
  defined,
  type ProviderActivationAnswer,
  type ServiceActivation,
  type ServiceActivationInput,
  throwProblem,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import { isoTime, isUuid, type Queries } from '../../platform/index.ts';
import type { AuthoredScope, CallerScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import {
  requireNonDeviceCaller,
  requireOrganizationScope,
  throwMemberProblem,
} from '../infrastructure/request-checks.ts';
import type { ParameterSchema, ParameterValidator } from '../parameters/parameter-validator.ts';
import type { SecretCipher } from '../parameters/secret-encryption.ts';
import { splitSecrets } from '../parameters/split-secrets.ts';
import { findService, type ServiceRecord } from '../services/service-sql.ts';
import type { Services } from '../services/services.ts';
import { lockSubscription } from '../subscriptions/package-and-subscription-sql.ts';
import {
  type ActivationQuery,
  type ActivationRecord,
  type EntityPath,
  findActivation,
  insertActivationIfAbsent,
  listActivations,
  lockActivationOfEntity,
} from './activation-sql.ts';
import { toActivationView } from './activation-view.ts';
import { findEntity } from './find-entity.ts';
import type { ProviderHandshake } from './provider-handshake.ts';
import { readParameters, readReason } from './read-provider-answer.ts';
import { nextState } from './state-machine.ts';

type ActivationTarget = Pick<ServiceActivationInput, 'serviceId' | 'level' | 'entityId'>;

export type Activations = {
  activate(scope: AuthoredScope, input: ServiceActivationInput): Promise<ServiceActivation>;
  deactivate(scope: AuthoredScope, target: ActivationTarget): Promise<ServiceActivation>;
  list(
    scope: CallerScope,
    query: ActivationQuery,
    page: PageRequest,
  ): Promise<FoundPage<ServiceActivation>>;
  get(scope: CallerScope, activationId: string): Promise<ServiceActivation>;
  /** The provider of the service answers about an activation of any organisation. */
  answer(
    scope: AuthoredScope,
    organizationId: string,
    activationId: string,
    answer: ProviderActivationAnswer,
  ): Promise<ServiceActivation>;
};

type ActivationParts = {
  readonly services: Pick<Services, 'requirePublished'>;
  readonly parameterValidator: ParameterValidator;
  readonly handshake: ProviderHandshake;
  readonly secretCipher: SecretCipher;
  onChange(organizationId: string): void;
};

function throwActivationNotFound(): never {
  return throwProblem('resource_not_found', 'No activation that you may see has this identifier.');
}

function throwActivationStateProblem(detail: string): never {
  return throwProblem('activation_state', detail);
}

/** @example const activations = createActivations(deps, parts); */
export function createActivations(deps: CatalogDeps, parts: ActivationParts): Activations {
  return {
    ...createActivationChanges(deps, parts),
    ...createActivationReads(deps),
    answer: createAnswerOperation(deps, parts),
  };
}

function createActivationChanges(
  deps: CatalogDeps,
  parts: ActivationParts,
): Pick<Activations, 'activate' | 'deactivate'> {
  const { database, clock, ids, provisioning, jobs } = deps;
  const { services, parameterValidator, handshake, secretCipher, onChange } = parts;

  async function lockActivation(
    queries: Queries,
    { organizationId }: CallerScope,
    service: ServiceRecord,
    entity: EntityPath,
  ): Promise<ActivationRecord> {
    const { serviceId, release } = service;
    const now = isoTime(clock.now());
    const activationId = ids.uuid();
    await insertActivationIfAbsent(queries, {
      organizationId,
      activationId,
      serviceId,
      release,
      entity,
      now,
    });
    const row = await lockActivationOfEntity(queries, organizationId, entity.entityId, serviceId);
    if (row === undefined) throw new Error('an activation is gone between two statements');
    return row;
  }

  const activate: Activations['activate'] = async (scope, input) => {
    const { serviceId, parameters: values = {}, includesExisting = true } = input;
    const service = await services.requirePublished(database, scope, serviceId);
    const { published, release } = service;
    const schema = published?.['activationParameters'] as ParameterSchema | undefined;
    parameterValidator.requireValidValues(
      '/parameters',
      schema,
      `${service.serviceId}:${release}`,
      values,
    );
    const split = splitSecrets(schema, values, {});
    const entity = await findEntity(provisioning, scope, input);
    const activation = await database.transaction(async (trx) => {
      if (!(await lockSubscription(trx, scope.organizationId, service.serviceId))) {
        throwProblem(
          'service_not_subscribed',
          'The organisation has not subscribed to the service. Subscribe to a package that contains it.',
        );
      }
      const row = await lockActivation(trx, scope, service, entity);
      const newRequest: ActivationRecord = {
        ...row,
        release,
        handshakeId: ids.uuid(),
        includesExisting,
        parameters: split.values ?? {},
        secretPointers: Object.keys(split.secrets),
        secretsSealed: secretCipher.encrypt(row, split.secrets),
        requestedAt: clock.now(),
      };
      const requested = await handshake.applyStep(
        trx,
        newRequest,
        { step: 'request' },
        scope.author,
      );
      if (requested === undefined)
        return throwActivationStateProblem(`The activation is ${row.status}.`);
      if (published?.['spiUrl'] === undefined) {
        const accepted = await handshake.applyStep(
          trx,
          requested,
          { step: 'accept' },
          scope.author,
        );
        return accepted ?? requested;
      }
      await handshake.enqueueRequest(trx, requested);
      return requested;
    });
    jobs.wake();
    onChange(scope.organizationId);
    return toActivationView(activation);
  };

  const deactivate: Activations['deactivate'] = async (scope, target) => {
    const service = await findService(database, scope.organizationId, target.serviceId);
    if (service === undefined) {
      return throwProblem('service_not_found', 'No service that you may see has this identifier.');
    }
    if (service.release === 0)
      throwProblem('service_state', 'The service is a draft, so it has no activation.');
    const entity = await findEntity(provisioning, scope, target);
    const after = await database.transaction(async (trx) => {
      const row = await lockActivation(trx, scope, service, entity);
      const deactivated = await handshake.applyStep(trx, row, { step: 'deactivate' }, scope.author);
      if (deactivated === undefined)
        return throwActivationStateProblem(`The activation is ${row.status}.`);
      const wasSentToProvider = ['Requested', 'Pending', 'Active'].includes(row.status);
      if (wasSentToProvider && service.published?.['spiUrl'] !== undefined) {
        await handshake.enqueueDeactivationNotice(trx, deactivated);
      }
      return deactivated;
    });
    jobs.wake();
    onChange(scope.organizationId);
    return toActivationView(after);
  };

  return { activate, deactivate };
}

function createActivationReads({ database }: CatalogDeps): Pick<Activations, 'list' | 'get'> {
  return {
    async list(scope, query, page) {
      requireNonDeviceCaller(scope);
      return readPage(
        page,
        (read) => listActivations(database, scope, query, read),
        ({ activationId }) => activationId,
        toActivationView,
      );
    },
    async get(scope, activationId) {
      requireNonDeviceCaller(scope);
      const row = isUuid(activationId)
        ? await findActivation(database, scope, activationId)
        : undefined;
      return row === undefined ? throwActivationNotFound() : toActivationView(row);
    },
  };
}

function createAnswerOperation(
  { database }: CatalogDeps,
  { handshake, onChange }: ActivationParts,
): Activations['answer'] {
  return async (scope, organizationId, activationId, { handshakeId, ...answer }) => {
    requireOrganizationScope(scope, 'answer for its services');
    if (!isUuid(organizationId) || !isUuid(activationId)) return throwActivationNotFound();
    const parameters =
      answer.parameters === undefined ? undefined : readParameters(answer.parameters);
    if (answer.parameters !== undefined && parameters === undefined) {
      throwMemberProblem('/parameters', 'is too long');
    }
    const decision =
      answer.status === 'Accepted'
        ? ({ step: 'accept', ...defined({ parameters }) } as const)
        : ({ step: 'refuse', reason: readReason(answer.reason) } as const);
    const after = await database.transaction(async (trx) => {
      const row = await findActivation(trx, { organizationId }, activationId, 'FOR UPDATE');
      const service =
        row === undefined ? undefined : await findService(trx, scope.organizationId, row.serviceId);
      // A provider gets the same error for another provider's service as for an unknown activation.
      if (row === undefined || service?.organizationId !== scope.organizationId) {
        return throwActivationNotFound();
      }
      if (row.handshakeId !== handshakeId.toLowerCase()) {
        return throwActivationStateProblem(
          'The answer is for an earlier request; answer the latest request.',
        );
      }
      const answeredStatus = nextState('Requested', decision.step);
      // A repeated answer changes nothing.
      if (row.status === answeredStatus) return row;
      const changed = await handshake.applyStep(trx, row, decision, scope.author);
      return changed ?? throwActivationStateProblem(`The activation is ${row.status}.`);
    });
    onChange(organizationId);
    return toActivationView(after);
  };
}
