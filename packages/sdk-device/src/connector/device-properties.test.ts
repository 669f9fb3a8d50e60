import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { type TestCertificates, testCertificates } from '../testing/certificates.fixture.ts';
import {
  convertDeviceProperties,
  type DeviceConnectionProperties,
  parseDeviceProperties,
} from './device-properties.ts';

const registerUrl = 'wss://pay.example/cloud-connector/v1/device-listener';
const secret = 'never-to-be-told';

describe('the configuration properties of the specification', () => {
  let certificates: TestCertificates;
  let readFile: (path: string) => string;
  const properties: DeviceConnectionProperties = {
    ep_register_url: registerUrl,
    enable_ssl: '1',
    ssl_profile_name: 'cloud',
    ssl_profile_crt: '/etc/device.pem',
    connection_ssl_profile: 'cloud',
    custom_registration_data: `{"client_id":"acme","client_secret":"${secret}"}`,
  };
  before(async () => {
    certificates = await testCertificates();
    const { cert, key } = certificates.device;
    readFile = (path) => {
      if (path !== '/etc/device.pem') throw new Error(`no ${path}`);
      return `${key}\n${cert}\n${certificates.ca}`;
    };
  });

  test('give the address, certificate, key and registration data', () => {
    const { ca, device } = certificates;
    const read = convertDeviceProperties(properties, { readFile, ca });
    assert.equal(read.registerUrl, registerUrl);
    assert.deepEqual(read.registrationData, { client_id: 'acme', client_secret: secret });
    assert.equal(read.tls.ca, ca);
    assert.equal(String(read.tls.cert).match(/BEGIN CERTIFICATE/g)?.length, 2);
    assert.equal(String(read.tls.key).trim(), device.key.trim());
  });

  test('are read from lines and unknown names are ignored', () => {
    const text = `# of the terminal\r\nep_register_url = ${registerUrl}\nenable_ssl=1\n\nvolume=3\nssl_profile_name=a=b\n`;
    assert.deepEqual(parseDeviceProperties(text), {
      ep_register_url: registerUrl,
      enable_ssl: '1',
      ssl_profile_name: 'a=b',
    });
  });

  const faults: [string, DeviceConnectionProperties, RegExp][] = [
    ['no address', { ep_register_url: '' }, /ep_register_url is missing/],
    ['an address of the web', { ep_register_url: 'https://x.example' }, /must be a wss address/],
    [
      'no TLS outside of this machine',
      { enable_ssl: '0', ep_register_url: 'ws://x.example' },
      /wss/,
    ],
    ['TLS that is off', { enable_ssl: '0' }, /enable_ssl must be 1 for a wss address/],
    ['another word', { enable_ssl: 'yes' }, /enable_ssl must be 0 or 1/],
    ['another profile', { connection_ssl_profile: 'other' }, /connection_ssl_profile must be/],
    ['no profile', { ssl_profile_name: '' }, /ssl_profile_name is missing/],
    ['no file', { ssl_profile_crt: '/none' }, /ssl_profile_crt cannot be read/],
    ['data that is no JSON', { custom_registration_data: `{"a":"${secret}` }, /not a JSON object/],
    ['data that is a list', { custom_registration_data: `["${secret}"]` }, /not a JSON object/],
  ];
  for (const [what, wrong, says] of faults) {
    test(`${what} is rejected, and the error message does not contain the secret`, () => {
      assert.throws(
        () => convertDeviceProperties({ ...properties, ...wrong }, { readFile }),
        (error: Error) => {
          assert.match(error.message, says);
          assert.ok(!error.message.includes(secret));
          return true;
        },
      );
    });
  }

  // Spec: CC-14
  test('all faults are reported together', () => {
    const wrong = { ...properties, ssl_profile_name: '', custom_registration_data: '1' };
    assert.throws(
      () => convertDeviceProperties(wrong, { readFile: () => 'nothing' }),
      /ssl_profile_name is missing.*no certificate.*no private key.*not a JSON object/,
    );
  });
});
