// Tests terminal claims: required in production, and no response reveals another organisation.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ClaimConflict, ProblemError } from '@switchyard/contract';
import {
  type Answer,
  type CertificateAndKey,
  openDevices,
  type TestDevices,
  type TestTerminal,
} from '../../../test/support/provisioning/test-devices.ts';
import {
  createManufacturer,
  type Manufacturer,
  writeManufacturerCaFile,
} from '../../../test/support/provisioning/test-manufacturer.ts';
import { merchantBody } from '../../../test/support/provisioning/test-provisioning.ts';
import type { Caller } from '../../http/index.ts';
import { systemIdGenerator } from '../../platform/index.ts';

const credentialsPath = '/oauth2-mtls/v1/merchants-credentials';
const claimsPath = '/oauth2-mtls/v1/claims';
const conflictsPath = '/provisioning/v2/claim-conflicts';
const code = 'K7QM-2F9X';
const openConflictsMax = 20;

type Party = { organizationId: string; userDomainId: string; token: string };
type Hardware = Pick<TestTerminal, 'physicalDeviceId' | 'serialNumber' | 'tsn'>;

const facts = ({ status, body }: Answer) => [status, body.code ?? body.claimStatus];

/** The response without the members that identify the request. */
function comparable({ status, headers, body }: Answer) {
  const { requestId: _request, instance: _instance, ...rest } = body;
  return { status, headers: Object.keys(headers).sort(), body: rest };
}

describe('a claim of a terminal, in production', () => {
  let setup: TestDevices;
  let manufacturer: Manufacturer;
  let ownParty: Party;
  let other: Party;
  let operator: Party;

  async function makeParty(name: string, role: 'AcquirerAdministrator' | 'PlatformOperator') {
    const organizationId = systemIdGenerator.uuid();
    const userDomainId = `realm-${organizationId}`;
    await setup.provisioning.organizations.create({ organizationId }, { name }, organizationId);
    await setup.identity.createUserDomain({ userDomainId, organizationId });
    const client = await setup.identity.createApplication({
      organizationId,
      userDomainId,
      name: 'Back office',
      entityType: 'tenant',
      entityId: organizationId,
      roles: [role],
      securityFlows: ['ClientCredentials'],
    });
    const { body } = await setup.api(`/oauth2/v1/${userDomainId}/token`, {
      form: {
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
      },
    });
    return { organizationId, userDomainId, token: body.access_token as string };
  }

  before(async () => {
    manufacturer = await createManufacturer('Terminals Ltd');
    setup = await openDevices({
      authorityFile: await writeManufacturerCaFile(manufacturer),
      environment: 'production',
    });
    ownParty = setup;
    other = await makeParty('Second acquirer', 'AcquirerAdministrator');
    operator = await makeParty('Platform', 'PlatformOperator');
  });
  after(() => setup.close());

  /** The same terminal, provisioned by the other organisation too. */
  async function provisionElsewhere({ serialNumber }: Hardware): Promise<Hardware> {
    const scope = { organizationId: other.organizationId };
    const { merchants, stores, logicalDevices, physicalDevices } = setup.provisioning;
    const { merchantId } = (await merchants.create(scope, merchantBody('Elsewhere'))).view;
    const { storeId } = (await stores.create(scope, { merchantId, name: 'Elsewhere' })).view;
    const { logicalDeviceId } = (await logicalDevices.create(scope, { storeId, name: 'Till' }))
      .view;
    const hardware = { serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium', merchantId };
    const { view } = await physicalDevices.create(scope, hardware);
    await logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [view.physicalDeviceId]);
    return view;
  }

  const send = (certificate: CertificateAndKey, json: object) =>
    setup.device(claimsPath, { certificate, json, method: 'POST' });
  const enter = ({ token }: Party, { physicalDeviceId }: Hardware, claimCode: string) =>
    setup.api(`/provisioning/v2/physical-devices/${physicalDeviceId}/claim`, {
      token,
      json: { claimCode },
    });
  const read = async ({ token }: Party, { physicalDeviceId }: Hardware) => {
    const path = `/provisioning/v2/physical-devices/${physicalDeviceId}`;
    return (await setup.api(path, { token })).body;
  };
  const remember = ({ organizationId }: Party, { physicalDeviceId }: Hardware) =>
    setup.provisioning.terminalClaims.storeClaimCode(organizationId, physicalDeviceId, code);
  const conflictsAbout = async ({ serialNumber }: Hardware): Promise<ClaimConflict[]> => {
    const { body } = await setup.api(`${conflictsPath}?limit=200`, { token: operator.token });
    return body.items.filter((item: ClaimConflict) => item.serialNumber === serialNumber);
  };
  const settle = ({ token }: Party, conflictId: string, decision: string) =>
    setup.api(`${conflictsPath}/${conflictId}/settle`, { token, json: { decision } });
  const auditOf = async ({ organizationId }: Party, entityId: string) => {
    const rows = await setup.database.query<{ action: string; text: string }>(
      `SELECT action, concat(before_change, after_change) AS text FROM audit_records
       WHERE organization_id = $1 AND entity_id = $2 ORDER BY sequence`,
      [organizationId, entityId],
    );
    return rows;
  };

  // Spec: PROV-11
  it('by the code that it shows is needed before its certificate opens a connection', async () => {
    const location = await setup.createTerminal();
    const certificate = await setup.certify(location.physicalDeviceId);
    assert.deepEqual(facts(await setup.device(credentialsPath, { certificate })), [
      403,
      'device_not_claimed',
    ]);
    const form = { grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' };
    const token = await setup.device('/oauth2-mtls/v1/token', { certificate, form });
    assert.deepEqual([token.status, token.body.error], [400, 'unauthorized_client']);

    assert.deepEqual(facts(await enter(ownParty, location, code)), [422, 'claim_code_invalid']);
    assert.deepEqual(facts(await send(certificate, { claimCode: code })), [200, 'Unclaimed']);
    const claimed = await enter(ownParty, location, 'k7qm2f9x');
    assert.deepEqual([claimed.status, claimed.body.claimMethod], [200, 'Code']);
    assert.match(String(claimed.headers['etag']), /^"\d+"$/);
    assert.deepEqual(facts(await send(certificate, { claimCode: code })), [200, 'Claimed']);
    assert.equal((await setup.device(credentialsPath, { certificate })).status, 200);
    assert.deepEqual(facts(await enter(ownParty, location, 'AAAA-AAAA')), [200, 'Claimed']);
    const actions = (await auditOf(ownParty, location.physicalDeviceId)).map(
      ({ action }) => action,
    );
    assert.deepEqual(actions.slice(-2), ['physicalDevice.claimRefused', 'physicalDevice.claimed']);
  });

  it('by a certificate of the platform needs the code, also if the terminal names an organisation', async () => {
    const location = await setup.createTerminal();
    const certificate = await setup.certify(location.physicalDeviceId);
    const { userDomainId: userDomain } = ownParty;
    assert.deepEqual(facts(await send(certificate, { userDomain })), [200, 'Unclaimed']);
    assert.equal((await read(ownParty, location)).claimStatus, 'Unclaimed');
    assert.equal((await setup.device(credentialsPath, { certificate })).status, 403);
  });

  // Spec: PROV-10
  it('by a code takes the last code alone, for fifteen minutes, and ends after five wrong ones', async () => {
    const location = await setup.createTerminal();
    await remember(ownParty, location);
    setup.clock.advance(15 * 60_000);
    assert.deepEqual(facts(await enter(ownParty, location, code)), [422, 'claim_code_invalid']);
    await remember(ownParty, location);
    for (let times = 0; times < 5; times += 1) {
      assert.deepEqual(facts(await enter(ownParty, location, `AAAA-AAA${times}`)), [
        422,
        'claim_code_invalid',
      ]);
    }
    await remember(ownParty, location);
    assert.deepEqual(facts(await enter(ownParty, location, code)), [422, 'claim_code_invalid']);
    const { terminalClaims } = setup.provisioning;
    await terminalClaims.storeClaimCode(
      ownParty.organizationId,
      location.physicalDeviceId,
      'BBBB-BBBB',
    );
    assert.deepEqual(facts(await enter(ownParty, location, code)), [422, 'claim_code_invalid']);
    assert.deepEqual(facts(await enter(ownParty, location, 'BBBB-BBBB')), [200, 'Claimed']);
    for (const bad of ['', 'K7QM', 'K7QM-2F9X-', 'K7QM 2F9X', "K7QM-2F9'"]) {
      assert.deepEqual(facts(await enter(ownParty, location, bad)), [422, 'field_invalid'], bad);
    }
  });

  // Spec: PROV-9
  it('by the certificate of its manufacturer goes to the organisation that the terminal names', async () => {
    const location = await setup.createTerminal();
    const elsewhere = await provisionElsewhere(location);
    const certificate = await manufacturer.issueCertificate(location);
    assert.deepEqual(facts(await setup.device(credentialsPath, { certificate })), [
      401,
      'certificate_invalid',
    ]);
    const claimed = await send(certificate, { userDomain: ownParty.userDomainId });
    assert.deepEqual(facts(claimed), [200, 'Claimed']);
    assert.equal((await setup.device(credentialsPath, { certificate })).status, 200);
    assert.equal((await read(ownParty, location)).claimMethod, 'Certificate');
    assert.equal((await read(other, elsewhere)).claimStatus, 'Unclaimed');
    // Again, after a restart of the terminal.
    assert.deepEqual(facts(await send(certificate, { userDomain: ownParty.userDomainId })), [
      200,
      'Claimed',
    ]);
  });

  // Spec: PROV-9
  it('by a certificate takes the terminal from an organisation that has only entered a code', async () => {
    const location = await setup.createTerminal();
    const squatter = await provisionElsewhere(location);
    await remember(other, squatter);
    assert.deepEqual(facts(await enter(other, squatter, code)), [200, 'Claimed']);
    const certificate = await manufacturer.issueCertificate(location);
    assert.deepEqual(facts(await send(certificate, { userDomain: ownParty.userDomainId })), [
      200,
      'Claimed',
    ]);
    assert.equal((await read(other, squatter)).claimStatus, 'Unclaimed');
    const [conflict] = await conflictsAbout(location);
    assert.equal(conflict?.holder.organizationId, ownParty.organizationId);
    assert.equal(conflict?.claimant.organizationId, other.organizationId);
    const ended = (await auditOf(other, squatter.physicalDeviceId)).at(-1);
    assert.equal(ended?.action, 'physicalDevice.claimEnded');
    assert.equal(ended?.text.includes(ownParty.organizationId), false);
  });

  it('by a certificate that another organisation registered does not assign the terminal to that organisation', async () => {
    const location = await setup.createTerminal();
    const otherOrganization = await provisionElsewhere(location);
    const certificate = await manufacturer.issueCertificate(location);
    for (const [party, { physicalDeviceId }] of [
      [other, otherOrganization],
      [ownParty, location],
    ] as const) {
      const path = `/provisioning/v2/physical-devices/${physicalDeviceId}/certificates`;
      const made = await setup.api(path, {
        token: party.token,
        json: { certificate: certificate.cert },
      });
      assert.equal(made.status, 201, JSON.stringify(made.body));
    }
    await remember(other, otherOrganization);
    assert.deepEqual(facts(await enter(other, otherOrganization, code)), [200, 'Claimed']);
    assert.deepEqual(facts(await setup.device(credentialsPath, { certificate })), [
      403,
      'device_not_claimed',
    ]);
    assert.deepEqual(facts(await send(certificate, { userDomain: ownParty.userDomainId })), [
      200,
      'Claimed',
    ]);
    const { body } = await setup.device(credentialsPath, { certificate });
    assert.equal(body[0].userDomain, ownParty.userDomainId);
  });

  // Spec: PROV-13
  it('is refused with the same response if another organisation has the terminal', async () => {
    const [taken, free] = [await setup.createTerminal(), await setup.createTerminal()];
    const [blocked, wrong] = [await provisionElsewhere(taken), await provisionElsewhere(free)];
    const certificate = await manufacturer.issueCertificate(taken);
    await send(certificate, { userDomain: ownParty.userDomainId });
    await remember(other, blocked);
    await remember(other, wrong);
    const answers = [await enter(other, blocked, code), await enter(other, wrong, 'AAAA-AAAA')];
    assert.deepEqual(facts(answers[0] as Answer), [422, 'claim_code_invalid']);
    assert.deepEqual(comparable(answers[0] as Answer), comparable(answers[1] as Answer));
    const actions = await Promise.all(
      [blocked, wrong].map(async (item) => {
        const rows = await auditOf(other, item.physicalDeviceId);
        return rows.map(({ action }) => action);
      }),
    );
    assert.deepEqual(actions[0], actions[1]);

    const unknown = { serialNumber: '99999901', tsn: 'AXIUM_DX8000-99999901' };
    const terminals = [
      await send(certificate, { userDomain: other.userDomainId }),
      await send(await manufacturer.issueCertificate(unknown), { userDomain: other.userDomainId }),
      await send(certificate, { userDomain: 'no-such-domain' }),
    ];
    for (const answer of terminals) {
      assert.deepEqual(facts(answer), [200, 'Unclaimed']);
      assert.deepEqual(comparable(answer), comparable(terminals[0] as Answer));
    }
    const foreign = await enter(other, taken, code);
    assert.deepEqual(facts(foreign), [404, 'device_not_found']);
  });

  // Spec: PROV-13
  it('of many terminals that others have stops, for every terminal, until the operator decides', async () => {
    const imitator = await makeParty('Imitator', 'AcquirerAdministrator');
    const { organizationId } = imitator;
    const { physicalDevices, terminalClaims } = setup.provisioning;
    const below = systemIdGenerator.uuid();
    const child = { name: 'Below', parentOrganizationId: organizationId };
    await setup.provisioning.organizations.create({ organizationId }, child, below);
    const imitate = async (serialNumber: string, holderId = organizationId) => {
      const body = { serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium' };
      const { view } = await physicalDevices.create({ organizationId: holderId }, body);
      await terminalClaims.storeClaimCode(holderId, view.physicalDeviceId, code);
      return terminalClaims
        .claimByCode({ organizationId: holderId }, view.physicalDeviceId, code)
        .then(
          ({ view }) => view.claimStatus,
          (error: { code: string }) => error.code,
        );
    };
    for (let count = 0; count < openConflictsMax; count += 1) {
      const { serialNumber, physicalDeviceId } = await setup.createTerminal({ isLinked: false });
      await terminalClaims.claimByOperator(ownParty.organizationId, physicalDeviceId);
      assert.equal(
        await imitate(serialNumber, count % 2 ? below : organizationId),
        'claim_code_invalid',
      );
    }
    const { serialNumber } = await setup.createTerminal({ isLinked: false });
    for (const next of [serialNumber, '99999902'])
      assert.equal(await imitate(next), 'rate_limited');
    assert.equal(await imitate('99999903', below), 'rate_limited');
  });

  // Spec: PROV-12
  it('that is in conflict is settled by the operator alone, and both organisations read their own part', async () => {
    const location = await setup.createTerminal();
    const claimant = await provisionElsewhere(location);
    const certificate = await manufacturer.issueCertificate(location);
    await send(certificate, { userDomain: ownParty.userDomainId });
    const { client_id, client_secret } = await setup.credentials(certificate);
    const form = { grant_type: 'client_credentials', client_id, client_secret };
    const { body: given } = await setup.device('/oauth2-mtls/v1/token', {
      certificate,
      form,
    });
    await send(certificate, { userDomain: other.userDomainId });
    await send(certificate, { userDomain: other.userDomainId });
    const [conflict, ...more] = await conflictsAbout(location);
    assert.ok(conflict !== undefined && more.length === 0);
    assert.deepEqual(
      [conflict.status, conflict.holder.organizationName, conflict.claimant.organizationName],
      ['Open', 'Acquirer', 'Second acquirer'],
    );
    const { conflictId } = conflict;
    for (const party of [ownParty, other]) {
      const list = await setup.api(conflictsPath, { token: party.token });
      assert.deepEqual(facts(list), [403, 'permission_denied']);
      const answer = await settle(party, conflictId, 'GiveToClaimant');
      assert.deepEqual(facts(answer), [403, 'permission_denied']);
    }
    assert.deepEqual(facts(await settle(operator, systemIdGenerator.uuid(), 'KeepHolder')), [
      404,
      'resource_not_found',
    ]);
    assert.deepEqual(facts(await settle(operator, conflictId, 'Split')), [422, 'field_invalid']);

    // An administrator of another organisation has the permission, and sees no conflict.
    const { conflicts } = setup.provisioning.terminalClaims;
    const caller = { organizationId: other.organizationId, entityType: 'tenant' } as Caller;
    assert.deepEqual((await conflicts.list(caller, { limit: 200 })).items, []);
    const isNotFound = (error: unknown) =>
      error instanceof ProblemError && error.code === 'resource_not_found';
    await assert.rejects(conflicts.get(caller, conflictId), isNotFound);
    const decided = conflicts.settle(
      { caller, id: systemIdGenerator.uuid() },
      conflictId,
      'GiveToClaimant',
    );
    await assert.rejects(decided, isNotFound);

    const availability = (token: string) =>
      setup.api('/provisioning/v2/physical-devices', { token, certificate });
    assert.notEqual((await availability(given.access_token)).status, 401);
    const settled = await settle(operator, conflictId, 'GiveToClaimant');
    assert.deepEqual([settled.status, settled.body.status], [200, 'Settled']);
    assert.equal((await read(ownParty, location)).claimStatus, 'Unclaimed');
    assert.equal((await read(other, claimant)).claimMethod, 'Certificate');
    assert.deepEqual(facts(await availability(given.access_token)), [401, 'token_invalid']);
    assert.equal((await settle(operator, conflictId, 'GiveToClaimant')).status, 200);
    assert.deepEqual(facts(await settle(operator, conflictId, 'KeepHolder')), [
      409,
      'concurrent_modification',
    ]);
    const [record, ...others] = await auditOf(operator, conflictId);
    assert.deepEqual([record?.action, others.length], ['claimConflict.settled', 0]);
    const parts = [
      [ownParty, location, 'physicalDevice.claimEnded', other],
      [other, claimant, 'physicalDevice.claimed', ownParty],
    ] as const;
    for (const [party, device, action, otherOrganization] of parts) {
      const last = (await auditOf(party, device.physicalDeviceId)).at(-1);
      assert.equal(last?.action, action);
      assert.equal(last?.text.includes(otherOrganization.organizationId), false);
    }
    // The terminal of the new holder presents the same certificate.
    await send(certificate, { userDomain: other.userDomainId });
    const { body } = await setup.device(credentialsPath, { certificate });
    assert.equal(body[0].userDomain, other.userDomainId);
  });

  it('leaves no open conflict when the operator decides for the holder, or when the holder removes the terminal', async () => {
    const location = await setup.createTerminal();
    const claimant = await provisionElsewhere(location);
    const certificate = await manufacturer.issueCertificate(location);
    await send(certificate, { userDomain: ownParty.userDomainId });
    await send(certificate, { userDomain: other.userDomainId });
    const [first] = await conflictsAbout(location);
    assert.equal((await settle(operator, String(first?.conflictId), 'KeepHolder')).status, 200);
    assert.equal((await setup.device(credentialsPath, { certificate })).status, 200);
    await send(certificate, { userDomain: other.userDomainId });
    const scope = { organizationId: ownParty.organizationId };
    await setup.provisioning.logicalDevices.linkPhysicalDevices(
      scope,
      location.logicalDeviceId,
      [],
    );
    await setup.provisioning.physicalDevices.remove(scope, location.physicalDeviceId);
    assert.deepEqual(facts(await send(certificate, { userDomain: other.userDomainId })), [
      200,
      'Claimed',
    ]);
    assert.equal((await read(other, claimant)).claimStatus, 'Claimed');
    const statuses = (await conflictsAbout(location)).map(({ status }) => status);
    assert.deepEqual(statuses, ['Settled', 'Withdrawn']);
  });

  it('that two organisations prove at the same time goes to one of them', async () => {
    for (let round = 0; round < 3; round += 1) {
      const location = await setup.createTerminal();
      await provisionElsewhere(location);
      const certificate = await manufacturer.issueCertificate(location);
      const answers = await Promise.all(
        [ownParty, other, ownParty, other].map(({ userDomainId }) =>
          send(certificate, { userDomain: userDomainId }),
        ),
      );
      const statuses = answers.map(({ body }) => body.claimStatus);
      assert.equal(statuses[0], statuses[2], JSON.stringify(statuses));
      assert.equal(statuses[1], statuses[3], JSON.stringify(statuses));
      assert.notEqual(statuses[0], statuses[1], JSON.stringify(statuses));
      assert.equal((await conflictsAbout(location)).length, 1);
    }
  });

  it('needs a certificate of a configured manufacturer authority', async () => {
    const location = await setup.createTerminal();
    const rogue = await createManufacturer('Terminals Ltd');
    const userDomain = ownParty.userDomainId;
    for (const certificate of [
      await rogue.issueCertificate(location),
      await manufacturer.issueCertificate(location, -0.5),
    ]) {
      assert.deepEqual(facts(await send(certificate, { userDomain })), [
        401,
        'certificate_invalid',
      ]);
    }
    assert.deepEqual(facts(await setup.device(claimsPath, { json: { userDomain } })), [
      401,
      'certificate_required',
    ]);
    const certificate = await manufacturer.issueCertificate(location);
    assert.deepEqual(facts(await send(certificate, {})), [422, 'field_required']);
    assert.deepEqual(facts(await send(certificate, { claimCode: code })), [
      401,
      'certificate_invalid',
    ]);
    // Make and model in front of the serial number count as well.
    const tsn = `TETRA_LANE3000-${location.serialNumber}`;
    const mistaken = await manufacturer.issueCertificate({ serialNumber: tsn, tsn });
    assert.deepEqual(facts(await send(mistaken, { userDomain })), [200, 'Unclaimed']);
    assert.equal((await read(ownParty, location)).claimStatus, 'Unclaimed');
  });
});
