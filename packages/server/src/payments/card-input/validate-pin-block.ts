// Validates the PIN members of a sale. Pure, so that validation does not load the HSM.
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';

export type PinData = {
  ksn: string;
  pinblock: string;
  pinblockFormat: 'ISO0' | 'ISO1' | 'ISO3' | 'ISO4';
};

const pinMembers = ['ksn', 'pinblock', 'pinblockFormat'] as const;

/** @throws Refusal pin_data_incomplete, pin_format_unsupported, entry_mode_invalid */
export function validatePinMembers(request: ProcessRequest): void {
  const missing = pinMembers.filter((name) => request[name] === undefined);
  if (missing.length === pinMembers.length) return;
  if (missing.length > 0) {
    const code = 'pin_data_incomplete';
    const detail = 'Is needed beside the others.';
    refuse(code, 'ksn, pinblock and pinblockFormat must be sent together.', {
      errors: missing.map((name) => ({ pointer: `/${name}`, code, detail })),
    });
  }
  if (request.entryMode === 'Keyed') {
    refuse(
      'entry_mode_invalid',
      'A PIN is not allowed with entryMode Keyed.',
      fieldError('/entryMode', 'entry_mode_invalid', 'Not Keyed, with a PIN.'),
    );
  }
  // Format 4 uses AES, the others TDES. AES DUKPT can derive both kinds of keys (ANSI X9.24-3).
  const { ksn, pinblock, pinblockFormat } = request as PinData;
  const isFormat4 = pinblockFormat === 'ISO4';
  if ((isFormat4 && ksn.length !== 24) || (pinblock.length === 32) !== isFormat4) {
    refuse(
      'pin_format_unsupported',
      'ISO4 goes with AES DUKPT and 32 digits, the others with 16 digits.',
      fieldError('/pinblockFormat', 'pin_format_unsupported', 'Does not fit ksn and pinblock.'),
    );
  }
}
