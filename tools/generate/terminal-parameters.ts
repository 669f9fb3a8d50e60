// docs/reference/emv-terminal-parameters.json: the declaration of the service, without any CA key.
import {
  terminalParameterDefaults,
  terminalParameterDomain,
  terminalParameterSchema,
} from '@switchyard/emv';

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
