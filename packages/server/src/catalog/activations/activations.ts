// Activates and deactivates services at a level, and accepts later answers of providers.
import {
  type ActivationAnswer,
  defined,
  type ServiceActivation,
  type ServiceActivationInput,
  throwProblem,
} from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { By, Scope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import {
  demandOrganization,
  isUuid,
  refuseDevices,
  refuseField,
} from '../infrastructure/request-checks.ts';
import { type Run, runIn, runOn } from '../infrastructure/statement-runner.ts';
import type { ParameterSchema, Parameters } from '../parameters/parameter-validator.ts';
import type { SecretBox } from '../parameters/secret-encryption.ts';
import { splitSecrets } from '../parameters/split-secrets.ts';
import { findService, type ServiceRow } from '../services/service-sql.ts';
import type { Services } from '../services/services.ts';
import { holdSubscription } from '../subscriptions/package-and-subscription-sql.ts';
import {
  type ActivationQuery,
  type ActivationRow,
  findActivation,
  insertOnce,
  listActivations,
  lockByEntity,
  type Place,
} from './activation-sql.ts';
import { activationView } from './activation-view.ts';
import { findPlace } from './find-entity.ts';
import type { Handshake } from './provider-handshake.ts';
import { readParameters, readReason } from './read-provider-answer.ts';
import { nextState } from './state-machine.ts';

type Target = Pick<ServiceActivationInput, 'serviceId' | 'level' | 'entityId'>;

export type Activations = {
  activate(by: By, input: ServiceActivationInput): Promise<ServiceActivation>;
  deactivate(by: By, target: Target): Promise<ServiceActivation>;
  list(
    scope: Scope,
    query: ActivationQuery,
    page: PageRequest,
  ): Promise<FoundPage<ServiceActivation>>;
  get(scope: Scope, activationId: string): Promise<ServiceActivation>;
  /** The provider of the service answers about an activation of any organisation. */
  answer(
    by: By,
    organizationId: string,
    activationId: string,
    answer: ActivationAnswer,
  ): Promise<ServiceActivation>;
};

type Parts = {
  readonly services: Pick<Services, 'demandPublished'>;
  readonly parameters: Parameters;
  readonly handshake: Handshake;
  readonly box: SecretBox;
  onChange(organizationId: string): void;
};

function refuseUnknown(): never {
  return throwProblem('resource_not_found', 'No activation in your scope has this identifier.');
}

function refuseState(detail: string): never {
  return throwProblem('activation_state', detail);
}

/** @example const activations = createActivations(deps, parts); */
export function createActivations(deps: CatalogDeps, parts: Parts): Activations {
  return {
    ...createSwitches(deps, parts),
    ...createReads(deps),
    answer: createAnswers(deps, parts),
  };
}

function createSwitches(
  deps: CatalogDeps,
  parts: Parts,
): Pick<Activations, 'activate' | 'deactivate'> {
  const { database, clock, ids, provisioning, jobs } = deps;
  const { services, parameters, handshake, box, onChange } = parts;

  async function lock(
    run: Run,
    { organizationId }: Scope,
    service: ServiceRow,
    place: Place,
  ): Promise<ActivationRow> {
    const { service_id: serviceId, release } = service;
    const now = isoTime(clock.now());
    const activationId = ids.uuid();
    await insertOnce(run, { organizationId, activationId, serviceId, release, place, now });
    const row = await lockByEntity(run, organizationId, place.entityId, serviceId);
    if (row === undefined) throw new Error('an activation is gone between two statements');
    return row;
  }

  const activate: Activations['activate'] = async (by, input) => {
    const { serviceId, parameters: values = {}, includesExisting = true } = input;
    const service = await services.demandPublished(runOn(database), by, serviceId);
    const { published, release } = service;
    const schema = published?.['activationParameters'] as ParameterSchema | undefined;
    parameters.demandValues('/parameters', schema, `${service.service_id}:${release}`, values);
    const own = splitSecrets(schema, values, {});
    const place = await findPlace(provisioning, by, input);
    const made = await database.transaction(async (trx) => {
      const run = runIn(trx);
      if (!(await holdSubscription(run, by.organizationId, service.service_id))) {
        throwProblem('service_not_subscribed', 'No package of a subscription holds the service.');
      }
      const row = await lock(run, by, service, place);
      const asked: ActivationRow = {
        ...row,
        release,
        handshake_id: ids.uuid(),
        includes_existing: includesExisting,
        parameters: own.values ?? {},
        secret_pointers: Object.keys(own.secrets),
        secrets_sealed: box.close(row, own.secrets),
        requested_at: new Date(clock.now()),
      };
      const requested = await handshake.settle(trx, asked, { step: 'request' }, by.author);
      if (requested === undefined) return refuseState(`The activation is ${row.status}.`);
      if (published?.['spiUrl'] === undefined) {
        const active = await handshake.settle(trx, requested, { step: 'accept' }, by.author);
        return active ?? requested;
      }
      await handshake.request(trx, requested);
      return requested;
    });
    jobs.wake();
    onChange(by.organizationId);
    return activationView(made);
  };

  const deactivate: Activations['deactivate'] = async (by, target) => {
    const service = await findService(runOn(database), by.organizationId, target.serviceId);
    if (service === undefined) {
      return throwProblem(
        'service_not_found',
        'The catalogue shows you no service of this identifier.',
      );
    }
    if (service.release === 0) throwProblem('service_state', 'The service was never published.');
    const place = await findPlace(provisioning, by, target);
    const after = await database.transaction(async (trx) => {
      const row = await lock(runIn(trx), by, service, place);
      const ended = await handshake.settle(trx, row, { step: 'deactivate' }, by.author);
      if (ended === undefined) return refuseState(`The activation is ${row.status}.`);
      const wasKnown = ['Requested', 'Pending', 'Active'].includes(row.status);
      if (wasKnown && service.published?.['spiUrl'] !== undefined) {
        await handshake.notify(trx, ended);
      }
      return ended;
    });
    jobs.wake();
    onChange(by.organizationId);
    return activationView(after);
  };

  return { activate, deactivate };
}

function createReads({ database }: CatalogDeps): Pick<Activations, 'list' | 'get'> {
  return {
    async list(scope, query, page) {
      refuseDevices(scope);
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listActivations(runOn(database), scope, query, read);
      const shown = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? shown.at(-1)?.activation_id : undefined;
      return { items: shown.map(activationView), next };
    },
    async get(scope, activationId) {
      refuseDevices(scope);
      const row = isUuid(activationId)
        ? await findActivation(runOn(database), scope, activationId)
        : undefined;
      return row === undefined ? refuseUnknown() : activationView(row);
    },
  };
}

function createAnswers(
  { database }: CatalogDeps,
  { handshake, onChange }: Parts,
): Activations['answer'] {
  return async (by, organizationId, activationId, { handshakeId, ...answer }) => {
    demandOrganization(by, 'answers for its services');
    if (!isUuid(organizationId) || !isUuid(activationId)) return refuseUnknown();
    const parameters =
      answer.parameters === undefined ? undefined : readParameters(answer.parameters);
    if (answer.parameters !== undefined && parameters === undefined) {
      refuseField('/parameters', 'is too long');
    }
    const settlement =
      answer.status === 'Accepted'
        ? ({ step: 'accept', ...defined({ parameters }) } as const)
        : ({ step: 'refuse', reason: readReason(answer.reason) } as const);
    const after = await database.transaction(async (trx) => {
      const run = runIn(trx);
      const row = await findActivation(run, { organizationId }, activationId, 'FOR UPDATE');
      const service =
        row === undefined ? undefined : await findService(run, by.organizationId, row.service_id);
      // A provider gets the same error for another provider's service as for an unknown activation.
      if (row === undefined || service?.organization_id !== by.organizationId) {
        return refuseUnknown();
      }
      if (row.handshake_id !== handshakeId.toLowerCase()) {
        return refuseState('Another request was made since the one that is answered.');
      }
      const wanted = nextState('Requested', settlement.step);
      // A repeated answer changes nothing.
      if (row.status === wanted) return row;
      const settled = await handshake.settle(trx, row, settlement, by.author);
      return settled ?? refuseState(`The activation is ${row.status}.`);
    });
    onChange(organizationId);
    return activationView(after);
  };
}
