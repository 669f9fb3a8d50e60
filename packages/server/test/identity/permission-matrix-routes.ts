// Facts about routes that their paths do not show: public routes, routes of the organisation only,
// and request bodies.
import { randomUUID } from 'node:crypto';
import { keyedSale } from '../support/keyed-sale.ts';
import type { EntityIds } from './permission-matrix-organizations.ts';

/** Routes that are public by intent; the matrix fails for any other public route. */
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

/** Hidden pages are below these paths and have their own tests. */
export const pagePaths: readonly string[] = [
  '/auth/',
  '/docs',
  '/sign-up',
  '/portal',
  '/provider-portal',
];

/** The authorization server answers these paths; it does not check permissions. */
export const oauthPaths: readonly string[] = [
  '/oauth2/v1/:realm/',
  '/oauth2-mtls/v1/',
  '/auth/realms/:realm',
];

/** WebSockets, which have their own tests; a plain HTTP request gets 426. */
export const socketPaths: readonly string[] = ['/cloud-connector/v1/'];

/** Required query parameters; the server checks them after the permissions. */
export const requestQueries: Readonly<Record<string, string>> = {
  createReconciliation: `?acquirerLinkId=${randomUUID()}&from=2026-03-02&to=2026-03-01`,
};

/** A merchant's caller gets 403, with any permissions. */
export const organizationOnlyOperations: ReadonlySet<string> = new Set([
  'createOrganization',
  'updateOrganization',
  'deleteOrganization',
  'createMerchant',
  'deleteMerchant',
  'listAcquirerLinks',
  'getAcquirerLink',
  'createAcquirerLink',
  'listAcquirerLinkStates',
  'getAcquirerLinkState',
  'requestAcquirerLinkKeys',
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

/** The configuration of a level; a device reads only its own configuration. */
const configurations = [
  'listConfigurableServices',
  'getConfiguration',
  'submitConfiguration',
  'deleteConfiguration',
  'listConfigurationVersions',
  'getConfigurationVersion',
  'restoreConfigurationVersion',
];

/** A device's caller gets 403. */
export const operationsDeniedToDevices: ReadonlySet<string> = new Set([
  'listServiceActivations',
  'getServiceActivation',
  'getConfigurationDelivery',
  'listConfigurationDeliveries',
  'listServiceStates',
  ...configurations,
]);

/** The test application has payment permissions, so callers without `um.write` get 403. */
export const userManagerOnlyOperations: ReadonlySet<string> = new Set(['rotateClientSecret']);

/** Requests of a device for itself; all other callers get 404. */
export const deviceOperations: ReadonlySet<string> = new Set([
  'getDeviceConfiguration',
  'acknowledgeDeviceConfiguration',
]);

/** Only devices may create these; other callers with payment permissions get 403. */
export const deviceOnlyOperations: ReadonlySet<string> = new Set(['createQrPayment']);

/** An organisation cannot delete itself; its parent can. */
export const operationsWithoutOwnOrganization: ReadonlySet<string> = new Set([
  'deleteOrganization',
]);

/** The path names the sub-organisation itself, without the organizationId parameter. */
export const operationsVisibleFromAbove: ReadonlySet<string> = new Set([
  'getOrganization',
  'updateOrganization',
  'deleteOrganization',
]);

/** The permission families that a parent organisation can use with ?organizationId=. */
export const familiesVisibleFromAbove: ReadonlySet<string> = new Set([
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

/** Every caller with the read permission can use published objects of any organisation. */
export const publishedOperations: ReadonlySet<string> = new Set([
  // The operator approves the links of every organisation.
  'approveAcquirerLink',
  'getService',
  'listServiceReleases',
  'createServicePackage',
  'listServiceStates',
]);

/** The merchants of the organisation can also read these. */
export const sharedOperations: ReadonlySet<string> = new Set([
  'getServicePackage',
  'getSubscription',
]);

/** A merchant's caller gets 403 if it names the organisation itself. */
export const organizationLevelOperations: ReadonlySet<string> = new Set([
  'createServiceActivation',
  'deactivateService',
  ...configurations,
]);

/**
 * The body names the seller; a contradiction to the token gets 403, even for unknown identifiers.
 */
export const operationsThatNameMerchant: ReadonlySet<string> = new Set([
  'processTransaction',
  'captureAllTransactions',
]);

/** The log shows requests of the own callers, including foreign identifiers that they sent. */
export const operationsThatShowRequests: ReadonlySet<string> = new Set(['listLoggedRequests']);

/**
 * Identifiers without an owner: those of the platform, or numbers that each organisation counts
 * itself.
 */
export const operationsWithoutOwner: ReadonlySet<string> = new Set([
  'signUpId',
  'conflictId',
  'sequence',
  'number',
]);

/** These routes run last, because they change objects that other routes need. */
export const operationsRunLast: ReadonlySet<string> = new Set([
  'retireService',
  'deactivateService',
]);

const activation = (things: EntityIds) => ({
  serviceId: things['serviceId'],
  level: things['merchantId'] === undefined ? 'Organization' : 'Merchant',
  entityId: things['entityId'],
});

const contract = ({ acquirerLink }: EntityIds) => ({
  acquirerLink,
  acquirerMerchantId: '100000000000001',
  terminalIdRange: { from: 'MTRX0001', to: 'MTRX0099' },
  currencies: ['EUR'],
  captureModes: ['Immediate'],
});

let requestCount = 0;

/** Bodies for routes whose example names no object, or would create too much. */
export const requestBodies: Readonly<Record<string, (things: EntityIds) => unknown>> = {
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
  // A text, because the server reads this body line by line.
  createBulkImport: () =>
    JSON.stringify({ type: 'store', operation: 'delete', data: { externalId: 'x' } }),
  createAcquirerContract: contract,
  updateAcquirerContract: contract,
  captureAllTransactions: ({ merchantId, storeId }) => ({ merchantId, storeId, dryRun: true }),
  reportQrPaymentEvent: () => {
    requestCount += 1;
    return {
      eventId: randomUUID(),
      sequence: requestCount,
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
