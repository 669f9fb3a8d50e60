// HTTP routes for packages and subscriptions.
import {
  ServicePackage,
  ServicePackageInput,
  ServicePackageReplacement,
  Subscription,
  SubscriptionInput,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { registerResourceRoutes } from '../../http/index.ts';
import { readScopeAndAuthor } from '../infrastructure/caller-scope.ts';
import type { PackageAndSubscriptionOperations } from './packages-and-subscriptions.ts';

const base = '/service-catalog/v1';
const tags = ['Service catalogue'] as const;

export function registerPackageAndSubscriptionRoutes(
  app: FastifyInstance,
  packagesAndSubscriptions: PackageAndSubscriptionOperations,
): void {
  registerPackageRoutes(app, packagesAndSubscriptions);
  registerSubscriptionRoutes(app, packagesAndSubscriptions);
}

function registerPackageRoutes(
  app: FastifyInstance,
  {
    listPackages,
    getPackage,
    createPackage,
    replacePackage,
    removePackage,
  }: PackageAndSubscriptionOperations,
): void {
  registerResourceRoutes(app, {
    path: `${base}/packages`,
    singular: 'ServicePackage',
    plural: 'ServicePackages',
    tags,
    readPermission: 'sub.read',
    writePermission: 'sub.write',
    identifiers: { packageId: Type.String({ maxLength: 64, description: 'The package.' }) },
    view: ServicePackage,
    notFoundCode: 'resource_not_found',
    scope: readScopeAndAuthor,
    list: { run: (scope, _filters, page) => listPackages(scope, page) },
    get: { run: getPackage },
    create: { body: ServicePackageInput, errors: ['service_not_found'], run: createPackage },
    update: {
      description: 'A service that is active only through this package cannot be removed from it.',
      body: ServicePackageReplacement,
      errors: ['service_not_found', 'has_dependants'],
      run: replacePackage,
    },
    delete: {
      description: 'The platform rejects the request while the package has a subscription.',
      errors: ['has_dependants'],
      run: removePackage,
    },
  });
}

function registerSubscriptionRoutes(
  app: FastifyInstance,
  { listSubscriptions, getSubscription, subscribe, unsubscribe }: PackageAndSubscriptionOperations,
): void {
  registerResourceRoutes(app, {
    path: `${base}/subscriptions`,
    singular: 'Subscription',
    plural: 'Subscriptions',
    tags,
    readPermission: 'sub.read',
    writePermission: 'sub.write',
    identifiers: {
      subscriptionId: Type.String({ maxLength: 64, description: 'The subscription.' }),
    },
    view: Subscription,
    notFoundCode: 'resource_not_found',
    scope: readScopeAndAuthor,
    list: { run: (scope, _filters, page) => listSubscriptions(scope, page) },
    get: { run: async (scope, id) => ({ view: await getSubscription(scope, id) }) },
    create: {
      description:
        'Only an organisation subscribes; merchants, stores and devices activate services.',
      body: SubscriptionInput,
      errors: ['resource_not_found', 'service_state', 'already_exists'],
      run: async (scope, { packageId }) => ({ view: await subscribe(scope, packageId) }),
    },
    delete: {
      description:
        'The platform rejects the request while a service that only this subscription provides is ' +
        'active for the organisation.',
      errors: ['has_dependants'],
      run: (scope, id) => unsubscribe(scope, id),
    },
  });
}
