// The interface of provisioning: organisations, merchants, stores, devices and acquirer contracts.
import type {
  AcquirerContract as AcquirerContractView,
  AcquirerLink,
  Merchant,
  Organization,
  PhysicalDevice,
  Store,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { AddressGuard, Clock, Database, Ids, Jobs } from '../platform/index.ts';
import { createAcquirerContracts } from './acquirers/acquirer-contracts.ts';
import { registerLinkApprovals } from './acquirers/acquirer-link-approval-routes.ts';
import { createLinkApprovals } from './acquirers/acquirer-link-approvals.ts';
import { builtInDialects, createAcquirerLinks, type Dialect } from './acquirers/acquirer-links.ts';
import type { LinkInspection } from './acquirers/check-link-keys.ts';
import type { LinkSigningKeys } from './acquirers/http-link-settings.ts';
import {
  createInstitutionFinder,
  createLinkDirectory,
  type LinkToOpen,
} from './acquirers/links-to-open.ts';
import { registerBulkRoutes } from './bulk-import/bulk-import-routes.ts';
import { createBulk } from './bulk-import/run-bulk-import.ts';
import { createDeviceFinder, type FoundDevice } from './devices/find-device.ts';
import { createTerminals, type Terminals } from './devices/find-terminals.ts';
import { createLogicalDevices, type LogicalDevices } from './devices/logical-devices.ts';
import { createPhysicalDevices } from './devices/physical-devices.ts';
import {
  createPointsOfSale,
  type PointsOfSale,
  type TillApplications,
} from './devices/points-of-sale.ts';
import { registerTerminalClaims } from './devices/terminal-claim-routes.ts';
import { createTerminalClaims, type TerminalClaims } from './devices/terminal-claims.ts';
import { registerProvisioningRoutes } from './entity-routes.ts';
import { createMerchants } from './merchants/merchants.ts';
import { createStores } from './merchants/stores.ts';
import { createTree, type StandingOrganization } from './organizations/organization-tree.ts';
import { createOrganizations, createOrganizationsBelow } from './organizations/organizations.ts';
import { noUserDomains, type UserDomains } from './organizations/user-domains.ts';
import type { Resource, Deps as ResourceDeps } from './resources/resource-operations.ts';
import { createResolver } from './sale-entities/resolve-sale-entities.ts';
import type {
  AcquirerContract,
  Names,
  Resolved,
  ResolvedPlace,
  Within,
} from './sale-entities/sale-entities.ts';
import { createSearch, type SearchProvisioned } from './search/search-entities.ts';
import { registerSearch } from './search/search-routes.ts';

export type { LinkNames } from './acquirers/check-link-keys.ts';
export type { LinkToOpen } from './acquirers/links-to-open.ts';
export type { FoundDevice } from './devices/find-device.ts';
export type { Terminal, Terminals } from './devices/find-terminals.ts';
export type { PointsOfSale } from './devices/points-of-sale.ts';
export type { TerminalClaims } from './devices/terminal-claims.ts';
export { addressLine, type Place } from './merchants/postal-address.ts';
export type { StandingOrganization } from './organizations/organization-tree.ts';
export type { UserDomains } from './organizations/user-domains.ts';
export type { Scope } from './resources/caller-scope.ts';
export { tillClientId, tsnOf } from './resources/format-rules.ts';
export type { Resource, Versioned } from './resources/resource-operations.ts';
export type {
  AcquirerContract,
  CaptureMode,
  Names,
  OfflineLimits,
  Resolved,
  ResolvedPlace,
  Within,
} from './sale-entities/sale-entities.ts';

export type ProvisioningDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: AuditRecorder;
  /** If absent, the results of imports are never deleted; for tests only. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue'>;
  /** If absent, no point of sale can be created; for tests only. */
  readonly tills?: () => TillApplications;
  /** The dialects of the hosts; if absent, the built-in dialects. */
  readonly dialects?: () => readonly Dialect[];
  /** The allowed `host:port` targets of links without TLS; if absent, every loopback port. */
  readonly acquirerProxies?: readonly string[] | undefined;
  /** In the demo, acquirer links need no approval by the operator. */
  readonly approvesLinksAtOnce?: boolean;
  /** If absent, an acquirer link may lead to any host; for tests only. */
  readonly linkGuard?: AddressGuard;
  /** If absent, no acquirer link shows the signing keys of the platform. */
  readonly signingKeys?: LinkSigningKeys;
  /** If absent, the server does not check the keys and certificates that a link names. */
  readonly inspectLink?: LinkInspection;
  /** If absent, no organisation has a user domain; for tests only. */
  readonly userDomains?: UserDomains;
  /** If absent, no organisation is the operator, and conflicts about terminals stay open. */
  readonly isOperator?: (organizationId: string) => Promise<boolean>;
};

export type Provisioning = {
  register(app: FastifyInstance): void;
  /**
   * Finds the merchant, store, device and contracts of a sale. Entities outside `within` (the
   * binding of the token) are treated as unknown. It throws a Refusal; a cache hit takes less than
   * a microsecond.
   */
  resolve(organizationId: string, names: Names, within?: Within): Promise<Resolved>;
  /** The same for transactions without a card acquirer: `contracts` may be empty. */
  placeOf(organizationId: string, names: Names, within?: Within): Promise<ResolvedPlace>;
  /** Finds the contract of an earlier transaction, even if it was disabled or deleted since. */
  contract(organizationId: string, contractId: string): Promise<AcquirerContract | undefined>;
  /** Finds the acquirer of a link of an earlier transaction, even if the link was removed since. */
  institutionOf(organizationId: string, linkId: string): Promise<string | undefined>;
  /**
   * Lists the approved and enabled links of all organisations, for the process that keeps them
   * open. It also lists the links in `also`, even if they are disabled or removed.
   */
  linksToOpen(also?: readonly string[]): Promise<LinkToOpen[]>;
  /**
   * Finds an enabled device by its identifier, by the identifier of its hardware, or by serial
   * number (`MAKE_MODEL-serial` or the serial alone); with a merchant, only a device of that
   * merchant.
   */
  findDevice(
    organizationId: string,
    merchantId: string | undefined,
    nameOrId: string,
  ): Promise<FoundDevice | undefined>;
  /** Finds terminals by name, enabled or not. */
  readonly terminals: Terminals;
  readonly terminalClaims: TerminalClaims;
  /** Cached for a few seconds; undefined if there is no such organisation, or it was removed. */
  findOrganization(organizationId: string): Promise<StandingOrganization | undefined>;
  /** The organisations above one, from the top down; empty if the organisation does not exist. */
  ancestorsOf(organizationId: string): Promise<readonly string[]>;
  readonly organizations: Resource<Organization>;
  readonly merchants: Resource<Merchant>;
  readonly stores: Resource<Store>;
  readonly logicalDevices: LogicalDevices;
  readonly physicalDevices: Resource<PhysicalDevice>;
  readonly pointsOfSale: PointsOfSale;
  /** Searches the provisioned entities of every type. */
  readonly search: SearchProvisioned;
  readonly acquirerLinks: Resource<AcquirerLink>;
  readonly acquirerContracts: Resource<AcquirerContractView>;
};

function noTills(): never {
  throw new Error('there is nobody who gives credentials to points of sale');
}

/** @example const provisioning = createProvisioning({ database, clock, ids, audit }); */
export function createProvisioning(given: ProvisioningDeps): Provisioning {
  const { database, clock, ids, audit, userDomains = noUserDomains } = given;
  const resolver = createResolver({ database, clock });
  const devices = createDeviceFinder({ database, clock });
  const terminals = createTerminals({ database, clock });
  const onWrite = (organizationId: string) => {
    for (const { forget } of [resolver, devices, terminals]) forget(organizationId);
  };
  const tree = createTree({ database, clock, userDomains });
  /** The move or the disabling of an organisation also affects everything below it. */
  const onOrganizationWrite = () => {
    for (const { clear } of [tree, resolver, devices, terminals]) clear();
  };
  const isOperator = given.isOperator ?? (async () => false);
  const deps: ResourceDeps = { database, clock, ids, audit, onWrite };
  const organizationDeps = { ...deps, onWrite: onOrganizationWrite, userDomains };
  const tills = given.tills ?? noTills;
  const resources = {
    organizations: createOrganizations(organizationDeps),
    merchants: createMerchants(deps),
    stores: createStores(deps),
    logicalDevices: createLogicalDevices(deps),
    physicalDevices: createPhysicalDevices(deps),
    pointsOfSale: createPointsOfSale(deps, tills),
    acquirerLinks: createAcquirerLinks(deps, {
      dialects: given.dialects ?? (() => builtInDialects),
      proxies: given.acquirerProxies,
      guard: given.linkGuard,
      isApprovedAtOnce: async (organizationId) =>
        given.approvesLinksAtOnce === true || (await isOperator(organizationId)),
      signingKeys: given.signingKeys,
      inspect: given.inspectLink,
    }),
    acquirerContracts: createAcquirerContracts(deps),
  };
  const terminalClaims = createTerminalClaims({
    ...deps,
    isOperator,
  });
  const linkApprovals = createLinkApprovals({ ...deps, isOperator });
  const search = createSearch(database);
  const bulk = createBulk({ database, clock, ids, audit, onWrite, tills, jobs: given.jobs });
  return {
    ...resources,
    search,
    register(app) {
      const organizations = createOrganizationsBelow(resources.organizations, userDomains);
      registerProvisioningRoutes(app, { ...resources, organizations });
      registerSearch(app, search);
      registerLinkApprovals(app, linkApprovals);
      registerTerminalClaims(app, terminalClaims);
      registerBulkRoutes(app, { bulk, ids });
    },
    findOrganization: tree.find,
    ancestorsOf: tree.ancestorsOf,
    resolve: resolver.resolve,
    placeOf: resolver.placeOf,
    contract: resolver.contract,
    findDevice: devices.find,
    terminals,
    terminalClaims,
    linksToOpen: createLinkDirectory(database),
    institutionOf: createInstitutionFinder(database),
  };
}
