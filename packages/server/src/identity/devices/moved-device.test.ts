// Whole run: devices, accounts or nodes are prepared for each test.
// Tests that a user must sign in again after the terminal has moved to another location.
import assert from 'node:assert/strict';
import { hash, X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import {
  type CertificateAndKey,
  openDevices,
  type TestDevices,
  type TestTerminal,
} from '../../../test/support/provisioning/test-devices.ts';

const password = 'seven tills under one roof';

describe('a terminal with a signed-in user', () => {
  let setup: TestDevices;
  let origin: TestTerminal;
  let certificate: CertificateAndKey;
  let username: string;
  let sequence = 0;

  before(async () => {
    setup = await openDevices();
  });
  after(() => setup.close());

  async function begin(): Promise<void> {
    origin = await setup.createTerminal();
    certificate = await setup.certify(origin.physicalDeviceId);
    await setup.credentials(certificate);
    const { organizationId, userDomainId, identity } = setup;
    sequence += 1;
    username = `user-${sequence}`;
    await identity.accounts.create({
      organizationId,
      userDomainId,
      username,
      password,
      secondFactor: 'Off',
      email: `${username}@shop.example`,
      emailVerified: true,
      groups: [`${origin.merchantId}_org_operator`],
      entityType: 'merchant',
      entityId: origin.merchantId,
    });
  }

  const requestToken = (form: Record<string, string>) =>
    setup.device('/oauth2-mtls/v1/token', {
      form: { client_id: `device-${origin.merchantId}`, ...form },
      certificate,
    });
  const signIn = async () => {
    const answer = await requestToken({ grant_type: 'password', username, password });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const refresh = async (refresh_token: string) => {
    const { status, body } = await requestToken({ grant_type: 'refresh_token', refresh_token });
    return status === 200 ? body : body.error;
  };
  const isGood = (token: string) => {
    const thumbprint = hash('sha256', new X509Certificate(certificate.cert).raw, 'base64url');
    const presented = { thumbprint: async () => thumbprint };
    return setup.identity.verifyToken(token, presented).then(
      () => true,
      () => false,
    );
  };
  const placeIn = (token: string) => {
    const { deviceId, storeId } = decodeJwt(token);
    return [deviceId, storeId];
  };

  async function move(from: TestTerminal, to: TestTerminal): Promise<void> {
    const { provisioning, organizationId } = setup;
    const link = ({ logicalDeviceId }: TestTerminal, ids: string[]) =>
      provisioning.logicalDevices.linkPhysicalDevices({ organizationId }, logicalDeviceId, ids);
    await link(from, []);
    await link(to, [origin.physicalDeviceId]);
  }

  it('stays signed in at its location, and loses its sign-in and tokens when it moves', async () => {
    await begin();
    const first = await signIn();
    const stayed = await refresh(first.refresh_token);
    assert.deepEqual(placeIn(stayed.access_token), [origin.logicalDeviceId, origin.storeId]);

    const next = await setup.createTerminal({ merchantId: origin.merchantId, isLinked: false });
    await move(origin, next);
    assert.equal(await refresh(stayed.refresh_token), 'invalid_grant');
    assert.equal(await isGood(stayed.access_token), false, 'it sold for the old place');

    const newSignIn = await signIn();
    assert.deepEqual(placeIn(newSignIn.access_token), [next.logicalDeviceId, next.storeId]);
    const renewed = await refresh(newSignIn.refresh_token);
    assert.deepEqual(placeIn(renewed.access_token), [next.logicalDeviceId, next.storeId]);
    assert.equal(await isGood(renewed.access_token), true);

    // The former sign-in stays ended.
    await move(next, origin);
    assert.equal(await refresh(stayed.refresh_token), 'invalid_grant');
  });

  it('stays signed in if it moves away and returns before the next refresh', async () => {
    await begin();
    const { refresh_token } = await signIn();
    const elsewhere = await setup.createTerminal({
      merchantId: origin.merchantId,
      isLinked: false,
    });
    await move(origin, elsewhere);
    await move(elsewhere, origin);
    const { access_token } = await refresh(refresh_token);
    assert.deepEqual(placeIn(access_token), [origin.logicalDeviceId, origin.storeId]);
  });
});
