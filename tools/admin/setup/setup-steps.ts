// The steps of `switchyard admin setup`. Each finds what exists already, so that the command can run again.
import { isDeepStrictEqual } from 'node:util';
import type { SecretsFile } from '../../../packages/cli/src/estate/secrets-file.ts';
import type {
  AcquirerContract,
  AcquirerLink,
  LogicalDevice,
  Merchant,
  PhysicalDevice,
  Store,
} from '../../../packages/contract/src/index.ts';
import type {
  CallerScope,
  ResourceOperations,
} from '../../../packages/server/src/provisioning/index.ts';
import {
  createOperatorAccount,
  createOrganization,
  findOperator,
  inviteAdministrator,
  type OpenApplication,
} from '../operator.ts';
import type { SetupFile } from './setup-file.ts';

/** What each step is for. */
export const stepPurposes = {
  operator: 'the organisation that runs the platform',
  'operator application': 'API credentials that approve sign-ups and acquirer links',
  acquirer: 'the organisation to which merchants, contracts and terminals belong',
  administrator: 'the first user; the running platform sends the invitation',
  link: "the connection to the acquirer's host",
  'approval of the link': 'the operator allows connections to this host and port',
  merchant: 'the business that takes the payments',
  contract: 'the number of the merchant and of its terminals at the acquirer, and what it may sell',
  store: 'a place of business of the merchant',
  terminal: 'the payment terminal, which the operator confirms as one of the acquirer',
  device: 'the terminal in its store',
  'terminal of the device': 'the terminal that the device uses',
  application: 'API credentials for a server of the merchant',
} as const;

export type StepName = keyof typeof stepPurposes;

export type StepResult = {
  readonly step: StepName;
  readonly result: 'created' | 'exists';
  readonly name: string;
  readonly id: string;
  /** Members of the file whose value differs from the existing entity, which does not change. */
  readonly differences?: readonly string[];
};

type Account = { readonly organizationId: string; readonly userDomainId: string };
type Setup = OpenApplication & {
  readonly secrets: SecretsFile;
  /** Called before the step. */
  readonly begin: (step: StepName) => void;
  readonly report: (step: StepResult) => void;
};

const defaultOperatorDomain = 'operator';
const maxMatches = 100;

type EntityToCreate<View> = {
  readonly step: StepName;
  readonly resource: Pick<ResourceOperations<View>, 'list' | 'create'>;
  readonly scope: CallerScope;
  readonly input: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly isSame: (view: View) => boolean;
  readonly idOf: (view: View) => string;
};

/** Creates an entity unless it exists. An existing one does not change. */
async function createOnce<View extends object>(
  { begin, report }: Pick<Setup, 'begin' | 'report'>,
  { step, resource, scope, input, query, isSame, idOf }: EntityToCreate<View>,
): Promise<View> {
  begin(step);
  const { items } = await resource.list(scope, query ?? { name: input['name'] }, {
    limit: maxMatches,
  });
  const existing = items.find(isSame);
  const view = existing ?? (await resource.create(scope, input)).view;
  const members = view as Record<string, unknown>;
  const differences =
    existing === undefined
      ? []
      : Object.keys(input).filter((name) => !isDeepStrictEqual(members[name], input[name]));
  report({
    step,
    result: existing === undefined ? 'created' : 'exists',
    name: String(members['name']),
    id: idOf(view),
    ...(differences.length > 0 ? { differences } : {}),
  });
  return view;
}

async function setUpOperator(setup: Setup, { operator }: SetupFile): Promise<Account> {
  const { platform, database, secrets, begin, report } = setup;
  begin('operator');
  const { name, userDomain = defaultOperatorDomain, administrator } = operator;
  const existing = await findOperator(database);
  const account = existing ?? (await createOperatorAccount(setup, { name, domain: userDomain }));
  const { organizationId, clientId } = account;
  if (existing === undefined) secrets.save('operator', account);
  const result = existing === undefined ? 'created' : 'exists';
  const { view } = await platform.provisioning.organizations.get(
    { organizationId },
    organizationId,
  );
  report({
    step: 'operator',
    result,
    name: view.name,
    id: organizationId,
    ...(view.name === name ? {} : { differences: ['name'] }),
  });
  report({ step: 'operator application', result, name: clientId, id: clientId });
  const userDomainId =
    (await platform.identity.userDomains.findByOrganization(organizationId)) ?? '';
  await setUpAdministrator(setup, { organizationId, userDomainId }, administrator);
  return { organizationId, userDomainId };
}

async function setUpAcquirer(
  setup: Setup,
  operator: Account,
  { acquirer }: SetupFile,
): Promise<Account> {
  if (acquirer === undefined) return operator;
  setup.begin('acquirer');
  const { name, userDomain: userDomainId, administrator } = acquirer;
  const { organizationId, isNew } = await createOrganization(setup, { name, userDomainId });
  setup.report({
    step: 'acquirer',
    result: isNew ? 'created' : 'exists',
    name,
    id: organizationId,
  });
  await setUpAdministrator(setup, { organizationId, userDomainId }, administrator);
  return { organizationId, userDomainId };
}

async function setUpAdministrator(
  { platform, begin, report }: Setup,
  account: Account,
  email: string | undefined,
): Promise<void> {
  if (email === undefined) return;
  begin('administrator');
  const { accounts } = platform.identity;
  const find = () => accounts.findByName(account.organizationId, email.toLowerCase());
  const existing = await find();
  if (existing === undefined) await inviteAdministrator(platform, account, email);
  const result = existing === undefined ? 'created' : 'exists';
  const user = existing ?? (await find());
  report({ step: 'administrator', result, name: email, id: user?.userId ?? '' });
}

/** The operator approves the host and port of the file, and no others. */
async function setUpLink(
  setup: Setup,
  { operator, acquirer }: { readonly operator: Account; readonly acquirer: Account },
  { link: input }: SetupFile,
): Promise<AcquirerLink> {
  const { platform, author, begin, report } = setup;
  const { acquirerLinks, approveAcquirerLink } = platform.provisioning;
  const link = await createOnce<AcquirerLink>(setup, {
    step: 'link',
    resource: acquirerLinks,
    scope: { organizationId: acquirer.organizationId, author },
    input,
    isSame: ({ name }) => name === input.name,
    idOf: ({ acquirerLinkId }) => acquirerLinkId,
  });
  const { acquirerLinkId: id, approval, host, port } = link;
  const operatorId = operator.organizationId;
  begin('approval of the link');
  if (approval === 'PendingApproval')
    await approveAcquirerLink({ operatorId, author }, id, { host: input.host, port: input.port });
  const result = approval === 'Approved' ? 'exists' : 'created';
  report({ step: 'approval of the link', result, name: `${host}:${port}`, id });
  return link;
}

async function setUpMerchant(
  setup: Setup,
  { organizationId }: Account,
  { acquirerLinkId }: AcquirerLink,
  file: SetupFile,
): Promise<{ merchantId: string; storeId: string }> {
  const { platform, author } = setup;
  const { merchants, acquirerContracts, stores } = platform.provisioning;
  const scope = { organizationId, author };
  const { merchantId } = await createOnce<Merchant>(setup, {
    step: 'merchant',
    resource: merchants,
    scope,
    input: file.merchant,
    isSame: ({ name }) => name === file.merchant.name,
    idOf: (view) => view.merchantId,
  });
  const { acquirerMerchantId } = file.contract;
  await createOnce<AcquirerContract>(setup, {
    step: 'contract',
    resource: acquirerContracts,
    scope: { ...scope, merchantId },
    input: { ...file.contract, acquirerLink: acquirerLinkId },
    query: {},
    isSame: (view) =>
      view.acquirerLink === acquirerLinkId && view.acquirerMerchantId === acquirerMerchantId,
    idOf: ({ contractId }) => contractId,
  });
  const { storeId } = await createOnce<Store>(setup, {
    step: 'store',
    resource: stores,
    scope,
    input: { ...file.store, merchantId },
    query: { merchantId, name: file.store.name },
    isSame: ({ name }) => name === file.store.name,
    idOf: (view) => view.storeId,
  });
  return { merchantId, storeId };
}

/** The operator of the platform confirms that the terminal belongs to the acquirer. */
async function setUpDevice(
  setup: Setup,
  { organizationId }: Account,
  storeId: string,
  { device: { name, ...hardware } }: SetupFile,
): Promise<void> {
  const { platform, author } = setup;
  const { physicalDevices, logicalDevices, terminalClaims } = platform.provisioning;
  const scope = { organizationId, author };
  const { physicalDeviceId } = await createOnce<PhysicalDevice>(setup, {
    step: 'terminal',
    resource: physicalDevices,
    scope,
    input: hardware,
    query: { serialNumber: hardware.serialNumber },
    isSame: ({ make, model }) => make === hardware.make && model === hardware.model,
    idOf: (view) => view.physicalDeviceId,
  });
  await terminalClaims.claimByOperator(organizationId, physicalDeviceId);
  const { logicalDeviceId, physicalDeviceIds } = await createOnce<LogicalDevice>(setup, {
    step: 'device',
    resource: logicalDevices,
    scope,
    input: { name, storeId },
    query: { storeId, name },
    isSame: (view) => view.name === name,
    idOf: (view) => view.logicalDeviceId,
  });
  if (physicalDeviceIds.length === 0)
    await logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [physicalDeviceId]);
  else if (!physicalDeviceIds.includes(physicalDeviceId))
    setup.report({
      step: 'terminal of the device',
      result: 'exists',
      name,
      id: logicalDeviceId,
      differences: ['physicalDeviceIds'],
    });
}

async function setUpApplication(
  { platform, database, secrets, begin, report }: Setup,
  { organizationId, userDomainId }: Account,
  merchantId: string,
  { application: { name } }: SetupFile,
): Promise<void> {
  begin('application');
  const [existing] = await database.query<{ id: string }>(
    `SELECT client_id AS id FROM applications
     WHERE organization_id = $1 AND entity_id = $2 AND name = $3 AND removed_at IS NULL`,
    [organizationId, merchantId, name],
  );
  if (existing !== undefined)
    return report({ step: 'application', result: 'exists', name, id: existing.id });
  const credentials = await platform.identity.createApplication({
    organizationId,
    userDomainId,
    name,
    roles: ['Merchant'],
    entityType: 'merchant',
    entityId: merchantId,
    merchantId,
    securityFlows: ['ClientCredentials'],
  });
  secrets.save('application', credentials);
  report({ step: 'application', result: 'created', name, id: credentials.clientId });
}

/** @throws ProblemError for what the platform refuses; the steps before it are done */
export async function runSetupSteps(setup: Setup, file: SetupFile): Promise<void> {
  const operator = await setUpOperator(setup, file);
  const acquirer = await setUpAcquirer(setup, operator, file);
  const link = await setUpLink(setup, { operator, acquirer }, file);
  const { merchantId, storeId } = await setUpMerchant(setup, acquirer, link, file);
  await setUpDevice(setup, acquirer, storeId, file);
  await setUpApplication(setup, acquirer, merchantId, file);
}
