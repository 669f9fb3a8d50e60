// The JSON documents of docs/reference: the HTTP API, the WebSocket API, and the terminal parameters without any CA key.
import { randomBytes } from 'node:crypto';
import { asyncApiDocument } from '@switchyard/contract';
import {
  terminalParameterDefaults,
  terminalParameterDomain,
  terminalParameterSchema,
} from '@switchyard/emv';
import serverPackage from '../../packages/server/package.json' with { type: 'json' };
import { createApplication } from '../../packages/server/src/application.ts';
import { createLog, openDatabase, readSettings } from '../../packages/server/src/platform/index.ts';

export async function openApiDocument(): Promise<string> {
  const settings = readSettings({
    SWITCHYARD_LOG_LEVEL: 'silent',
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
    SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
  });
  const log = createLog(settings);
  // The description of the routes needs no database.
  const database = openDatabase({ url: 'postgresql://nobody@127.0.0.1:1/none', log });
  const application = await createApplication({ settings, database, log });
  try {
    const answer = await application.http.app.inject('/openapi.json');
    if (answer.statusCode !== 200) throw new Error(`/openapi.json answered ${answer.statusCode}`);
    return `${JSON.stringify(answer.json(), null, 2)}\n`;
  } finally {
    await application.stop();
    await database.close();
  }
}

const urls = { baseUrl: 'https://localhost:8443', deviceUrl: 'https://localhost:9021' };

export const asyncApiText = (): string =>
  `${JSON.stringify(asyncApiDocument({ ...urls, version: serverPackage.version }), null, 2)}\n`;

export function terminalParametersDocument(): string {
  const declaration = {
    name: 'EMV terminal parameters',
    description: 'Applications, limits and CA keys for terminals.',
    domain: terminalParameterDomain,
    parameterSchema: terminalParameterSchema,
    defaults: terminalParameterDefaults,
  };
  return `${JSON.stringify(declaration, undefined, 2)}\n`;
}
