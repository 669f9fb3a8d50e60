// Acquirer links of tenants in production: only allowed hosts, and connected after operator
// approval.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Caller } from '../../src/http/index.ts';
import { systemIdGenerator } from '../../src/platform/index.ts';
import { createAcquirerLinkApprovals } from '../../src/provisioning/acquirers/acquirer-link-approvals.ts';
import {
  type Answer,
  openDevices,
  type TestDevices,
} from '../support/provisioning/test-devices.ts';
import { testAudit } from '../support/test-audit.ts';

const links = '/provisioning/v2/acquirer-links';
const approvals = '/provisioning/v2/acquirer-link-approvals';
const privateName = 'private.example';

type Party = { organizationId: string; token: string };
type RoleName = 'PlatformOperator' | 'AcquirerAdministrator';

const body = (members: object = {}) => ({
  name: 'north',
  host: 'acquirer.example',
  port: 8583,
  institutionId: '100001',
  ...members,
});

const refusalOf = ({ status, body: { code, errors } }: Answer) => [
  status,
  code,
  errors?.[0]?.pointer,
];

describe('acquirer links in production', () => {
  let setup: TestDevices;
  let operator: Party;
  let tenant: Party;

  async function makeParty(name: string, roles: RoleName[]): Promise<Party> {
    const organizationId = systemIdGenerator.uuid();
    const userDomainId = `realm-${organizationId}`;
    const organization = { name };
    await setup.provisioning.organizations.create({ organizationId }, organization, organizationId);
    await setup.identity.createUserDomain({ userDomainId, organizationId });
    const { clientId, clientSecret } = await setup.identity.createApplication({
      organizationId,
      userDomainId,
      name: 'Operations',
      entityType: 'tenant',
      entityId: organizationId,
      roles,
      securityFlows: ['ClientCredentials'],
    });
    const form = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: String(clientSecret),
    };
    const answer = await setup.api(`/oauth2/v1/${userDomainId}/token`, { form });
    return { organizationId, token: answer.body.access_token };
  }

  before(async () => {
    setup = await openDevices({
      environment: 'production',
      lookup: async (host) => [
        { address: host === privateName ? '10.0.0.1' : '8.8.8.8', family: 4 },
      ],
    });
    operator = await makeParty('Platform', ['PlatformOperator', 'AcquirerAdministrator']);
    tenant = await makeParty('Acquirer', ['AcquirerAdministrator']);
  });
  after(() => setup.close());

  const create = (members: object = {}, token = tenant.token) =>
    setup.api(links, { token, json: body(members) });
  const replace = (acquirerLinkId: string, members: object) =>
    setup.api(`${links}/${acquirerLinkId}`, {
      token: tenant.token,
      method: 'PUT',
      json: body(members),
    });
  const read = async (acquirerLinkId: string) =>
    (await setup.api(`${links}/${acquirerLinkId}`, { token: tenant.token })).body;
  const approve = (acquirerLinkId: string, json: object, token = operator.token) =>
    setup.api(`${approvals}/${acquirerLinkId}/approve`, { token, json });
  const isOpened = async (acquirerLinkId: string) =>
    (await setup.provisioning.listLinksToOpen([acquirerLinkId])).some(
      ({ linkId }) => linkId === acquirerLinkId,
    );
  const listPending = async (token: string): Promise<string[]> => {
    const answer = await setup.api(`${approvals}?limit=200`, { token });
    assert.equal(answer.status, 200);
    return answer.body.items.map((item: { acquirerLinkId: string }) => item.acquirerLinkId);
  };
  const made = async (members: object, token?: string): Promise<string> => {
    const answer = await create(members, token);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { acquirerLinkId, approval, state } = answer.body;
    assert.equal(state, approval === 'Approved' ? 'Connecting' : 'PendingApproval');
    return acquirerLinkId;
  };

  test('a host that is or resolves to a private address is refused at creation and at changes', async () => {
    const acquirerLinkId = await made({ name: 'moves' });
    for (const host of ['127.0.0.1', 'localhost', '169.254.169.254', '::1', '127.1', privateName]) {
      const created = await create({ name: host, host });
      assert.deepEqual(refusalOf(created), [422, 'field_invalid', '/host'], host);
      const moved = await replace(acquirerLinkId, { name: 'moves', host });
      assert.deepEqual(refusalOf(moved), [422, 'field_invalid', '/host'], host);
    }
    assert.equal((await read(acquirerLinkId)).host, 'acquirer.example');
  });

  // Spec: SET-9
  test('a link of a tenant opens only after the operator approved it', async () => {
    const acquirerLinkId = await made({ name: 'waits' });
    assert.equal((await read(acquirerLinkId)).approval, 'PendingApproval');
    assert.equal(await isOpened(acquirerLinkId), false);
    assert.ok((await listPending(operator.token)).includes(acquirerLinkId));
    const { status, body: approved } = await approve(acquirerLinkId, {
      host: 'acquirer.example',
      port: 8583,
    });
    assert.deepEqual([status, approved.approval], [200, 'Approved']);
    assert.equal((await read(acquirerLinkId)).approval, 'Approved');
    assert.equal(await isOpened(acquirerLinkId), true);
    assert.ok(!(await listPending(operator.token)).includes(acquirerLinkId));
    const again = await approve(acquirerLinkId, { host: 'acquirer.example', port: 8583 });
    assert.equal(again.status, 200);
    const records = await setup.database.query<{ organization_id: string }>(
      `SELECT organization_id FROM audit_records
       WHERE entity_id = $1 AND action = 'acquirerLink.approved'`,
      [acquirerLinkId],
    );
    assert.deepEqual(
      records.map((record) => record.organization_id).sort(),
      [operator.organizationId, tenant.organizationId].sort(),
    );
  });

  test('a tenant can neither list pending links nor approve its own link', async () => {
    const acquirerLinkId = await made({ name: 'own' });
    const address = { host: 'acquirer.example', port: 8583 };
    const listed = await setup.api(approvals, { token: tenant.token });
    assert.deepEqual(refusalOf(listed), [403, 'permission_denied', undefined]);
    const refused = await approve(acquirerLinkId, address, tenant.token);
    assert.deepEqual(refusalOf(refused), [403, 'permission_denied', undefined]);
    const written = await replace(acquirerLinkId, { name: 'own', approval: 'Approved' });
    assert.deepEqual(refusalOf(written), [422, 'field_read_only', '/approval']);
    const created = await create({ name: 'made approved', approval: 'Approved' });
    assert.equal(created.status, 422);
    assert.equal((await read(acquirerLinkId)).approval, 'PendingApproval');
  });

  test('a changed host or port needs a new approval, a changed name does not', async () => {
    const acquirerLinkId = await made({ name: 'approved' });
    const first = { host: 'acquirer.example', port: 8583 };
    assert.equal((await approve(acquirerLinkId, first)).status, 200);
    const renamed = await replace(acquirerLinkId, { name: 'renamed' });
    assert.equal(renamed.body.approval, 'Approved');
    for (const change of [{ host: 'other.example' }, { port: 22 }]) {
      const moved = await replace(acquirerLinkId, { name: 'renamed', ...change });
      assert.equal(moved.body.approval, 'PendingApproval');
      assert.equal(await isOpened(acquirerLinkId), false);
      const outdated = await approve(acquirerLinkId, first);
      assert.deepEqual(refusalOf(outdated), [409, 'concurrent_modification', undefined]);
      assert.equal((await approve(acquirerLinkId, { ...first, ...change })).status, 200);
    }
  });

  test('a changed adapter needs a new approval, in both directions', async () => {
    const acquirerLinkId = await made({ name: 'speaks both' });
    const address = { host: 'acquirer.example', port: 8583 };
    assert.equal((await approve(acquirerLinkId, address)).status, 200);
    const overHttp = { adapter: 'HttpJson', httpJson: { acquirerKeys: ['Q'.repeat(43)] } };
    for (const adapter of [overHttp, { adapter: 'Iso8583Host' }]) {
      const changed = await replace(acquirerLinkId, { name: 'speaks both', ...adapter });
      assert.deepEqual([changed.status, changed.body.approval], [200, 'PendingApproval']);
      assert.equal(await isOpened(acquirerLinkId), false);
      assert.equal((await approve(acquirerLinkId, address)).status, 200);
      assert.equal(await isOpened(acquirerLinkId), true);
    }
    // Without the member the link has the default adapter, so nothing changes.
    const same = await replace(acquirerLinkId, { name: 'speaks both' });
    assert.equal(same.body.approval, 'Approved');
  });

  test('a link of the operator is approved at creation', async () => {
    const answer = await create({ name: 'own of the operator' }, operator.token);
    assert.deepEqual([answer.status, answer.body.approval], [201, 'Approved']);
    assert.equal(await isOpened(answer.body.acquirerLinkId), true);
  });

  test('an unknown link or an invalid body approves nothing', async () => {
    const address = { host: 'acquirer.example', port: 8583 };
    for (const id of [systemIdGenerator.uuid(), 'none', "' OR true --"]) {
      assert.equal((await approve(encodeURIComponent(id), address)).status, 404, id);
    }
    const acquirerLinkId = await made({ name: 'wrong bodies' });
    for (const json of [
      {},
      { host: 'acquirer.example' },
      { ...address, port: 0 },
      { ...address, x: 1 },
    ]) {
      assert.equal((await approve(acquirerLinkId, json)).status, 422, JSON.stringify(json));
    }
    assert.equal((await read(acquirerLinkId)).approval, 'PendingApproval');
  });

  test('onb.approve approves no link of an organisation that the platform does not own', async () => {
    const acquirerLinkId = await made({ name: 'with the permission' });
    const { database, clock, identity } = setup;
    const records = createAcquirerLinkApprovals({
      database,
      clock,
      ids: systemIdGenerator,
      audit: testAudit(database, clock),
      onWrite() {},
      isOperator: identity.isOperator,
    });
    const outsiders = [
      { organizationId: tenant.organizationId, entityType: 'tenant' },
      { organizationId: operator.organizationId, entityType: 'merchant' },
    ] as Caller[];
    for (const caller of outsiders) {
      assert.deepEqual((await records.list(caller, { limit: 10 })).items, []);
      const address = { host: 'acquirer.example', port: 8583 };
      const attempt = records.approve({ caller, id: 'request' }, acquirerLinkId, address);
      await assert.rejects(attempt, { code: 'resource_not_found' });
    }
    assert.equal((await read(acquirerLinkId)).approval, 'PendingApproval');
  });
});
