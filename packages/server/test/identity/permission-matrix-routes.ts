// What an address alone does not tell of a route: who needs no token, what is the organisation's alone, and its body.
import { randomUUID } from 'node:crypto';
import { keyedSale } from '../support/keyed-sale.ts';
import type { Things } from './permission-matrix-organizations.ts';

/** Open to anybody, by intent: a route that is public and not here fails the matrix. */
export const openRoutes: ReadonlySet<string> = new Set([
  'getOpenApiDocument',
  'getAsyncApiDocument',
  'getDocs',
  'getDocsAsset',
  'getErrorPage',
  'listErrorPages',
  'createSignUp',
  'activateUser',
  'confirmUserSecondFactor',
  'listAuditKeys',
  'listConfigurationKeys',
  'listEventTypes',
  'listErrorCodes',
  'listRoles',
]);

/** Hidden pages lie below these, and have tests of their own. */
export const pagePaths: readonly string[] = [
  '/auth/',
  '/docs',
  '/sign-up',
  '/portal',
  '/provider-portal',
];

/** Answered by the authorization server, which knows no permissions. */
export const oauthPaths: readonly string[] = [
  '/oauth2/v1/:realm/',
  '/oauth2-mtls/v1/',
  '/auth/realms/:realm',
];

/** WebSockets, which have tests of their own; by plain HTTP each of them answers 426. */
export const socketPaths: readonly string[] = [
  '/cloud-connector/v1/',
  '/portal/terminal-connections/',
];

/** What an address has to say besides, without which nobody is let any further; refused behind the rights. */
export const queries: Readonly<Record<string, string>> = {
  createReconciliation: `?acquirerLinkId=${randomUUID()}&from=2026-03-02&to=2026-03-01`,
};

/** A merchant's caller is refused with 403, whatever permissions it holds. */
export const organizationOnly: ReadonlySet<string> = new Set([
  'createOrganization',
  'updateOrganization',
  'deleteOrganization',
  'createMerchant',
  'deleteMerchant',
  'listAcquirerLinks',
  'getAcquirerLink',
  'createAcquirerLink',
  'listAcquirerLinkStates',
  'updateAcquirerLink',
  'deleteAcquirerLink',
  'createAcquirerContract',
  'updateAcquirerContract',
  'deleteAcquirerContract',
  'createService',
  'updateService',
  'publishService',
  'retireService',
  'deleteService',
  'rotateServiceSecret',
  'answerServiceActivation',
  'reportQrPaymentEvent',
  'listServiceUses',
  'getServiceCallStatistics',
  'listProviderQrPayments',
  'createServicePackage',
  'updateServicePackage',
  'deleteServicePackage',
  'createSubscription',
  'deleteSubscription',
  'listClearingFiles',
  'createClearingFile',
  'getClearingFile',
  'listClearingFileLines',
  'getClearingFileContent',
  'acknowledgeClearingFile',
  'createReconciliation',
  'listReconciliations',
  'getReconciliation',
  'listReconciliationItems',
  'resolveReconciliationItem',
  'deleteReconciliation',
  'getPlatformHealth',
]);

/** The configuration of a level, which a device does not read: it asks for its own. */
const configurations = [
  'listConfigurableServices',
  'getConfiguration',
  'submitConfiguration',
  'deleteConfiguration',
  'listConfigurationVersions',
  'getConfigurationVersion',
  'restoreConfigurationVersion',
];

/** A device's caller is refused with 403. */
export const notOfDevices: ReadonlySet<string> = new Set([
  'listServiceActivations',
  'getServiceActivation',
  'getConfigurationDelivery',
  'listConfigurationDeliveries',
  'listServiceStates',
  ...configurations,
]);

/** The application of the world has rights to payments: callers without `um.write` are refused with 403. */
export const ofUserManagers: ReadonlySet<string> = new Set(['rotateClientSecret']);

/** What a device asks for itself: to everybody else there is no such device. */
export const ofDevices: ReadonlySet<string> = new Set([
  'getDeviceConfiguration',
  'acknowledgeDeviceConfiguration',
]);

/** Begun by terminals alone: whoever else may sell is refused with 403. */
export const devicesAlone: ReadonlySet<string> = new Set(['createQrPayment']);

/** Nobody ends his own organisation; the one above does. */
export const notOfItself: ReadonlySet<string> = new Set(['deleteOrganization']);

/** Those of an organisation below are named by themselves, without acting in it. */
export const seenFromAbove: ReadonlySet<string> = new Set([
  'getOrganization',
  'updateOrganization',
  'deleteOrganization',
]);

/** What is arranged in an organisation from above by ?organizationId=; the rest by itself alone. */
export const familiesFromAbove: ReadonlySet<string> = new Set([
  'prov',
  'um',
  'app',
  'sub',
  'conf',
  'svc',
  'hook',
  'audit',
  'rep',
]);

/** What is published is there for everybody who may read at all, whosever it is. */
export const publishedToAll: ReadonlySet<string> = new Set([
  // The operator approves the links of every organisation.
  'approveAcquirerLink',
  'getService',
  'listServiceReleases',
  'createServicePackage',
  'listServiceStates',
]);

/** Read by the merchants of the organisation too. */
export const sharedInOrganization: ReadonlySet<string> = new Set([
  'getServicePackage',
  'getSubscription',
]);

/** A merchant's caller is refused with 403 where it names the organisation itself. */
export const organizationLevel: ReadonlySet<string> = new Set([
  'createServiceActivation',
  'deactivateService',
  ...configurations,
]);

/** They say who sells; what contradicts the token is refused with 403, whether it exists or not. */
export const namesSeller: ReadonlySet<string> = new Set([
  'processTransaction',
  'captureAllTransactions',
]);

/** What callers of one's own have asked, and so the identifiers of strangers that they sent themselves. */
export const tellsOfRequests: ReadonlySet<string> = new Set(['listLoggedRequests']);

/** No tenant's own: the platform's, or numbers that each organisation counts for itself. */
export const nobodysOwn: ReadonlySet<string> = new Set([
  'signUpId',
  'conflictId',
  'sequence',
  'number',
]);

/** They change what the others are tried on. */
export const last: ReadonlySet<string> = new Set(['retireService', 'deactivateService']);

const activation = (things: Things) => ({
  serviceId: things['serviceId'],
  level: things['merchantId'] === undefined ? 'Organization' : 'Merchant',
  entityId: things['entityId'],
});

const contract = ({ acquirerLink }: Things) => ({
  acquirerLink,
  acquirerMerchantId: '100000000000001',
  terminalIdRange: { from: 'MTRX0001', to: 'MTRX0099' },
  currencies: ['EUR'],
  captureModes: ['Immediate'],
});

let told = 0;

/** Where the example of the document names nothing of anybody, or makes too much. */
export const bodies: Readonly<Record<string, (things: Things) => unknown>> = {
  approveAcquirerLink: () => ({ host: 'acquirer.example', port: 8583 }),
  resolveClaimConflict: () => ({ decision: 'KeepHolder' }),
  processTransaction: ({ merchantId, storeId, deviceId }) =>
    keyedSale({ merchantId, storeId, deviceId }),
  createAcquirerLink: () => ({
    name: 'closed',
    host: '127.0.0.1',
    port: 9,
    tls: false,
    institutionId: '123456',
    status: 'Disabled',
  }),
  // As text: its body is read line by line.
  createBulkImport: () =>
    JSON.stringify({ type: 'store', operation: 'delete', data: { externalId: 'x' } }),
  createAcquirerContract: contract,
  updateAcquirerContract: contract,
  captureAllTransactions: ({ merchantId, storeId }) => ({ merchantId, storeId, dryRun: true }),
  reportQrPaymentEvent: () => {
    told += 1;
    return {
      eventId: randomUUID(),
      sequence: told,
      type: 'payment.scanned',
      occurredAt: new Date().toISOString(),
      providerTransactionId: 'P-1',
    };
  },
  submitConfiguration: () => ({ values: { greeting: 'Good day' } }),
  createServiceActivation: activation,
  deactivateService: activation,
  createUser: ({ entityId, scope }) => ({
    username: `ann-${randomUUID()}`,
    entityId,
    scope,
    email: `ann-${randomUUID()}@shop.example`,
  }),
  createApplication: ({ entityId }) => ({ name: 'A till', entityId }),
};
