// JSON documents of docs/reference: the WebSocket API, and the terminal parameters without any CA key.
import { asyncApiDocument } from '@switchyard/contract';
import {
  terminalParameterDefaults,
  terminalParameterDomain,
  terminalParameterSchema,
} from '@switchyard/emv';
import serverPackage from '../../packages/server/package.json' with { type: 'json' };

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
