// The form of the PIN of a sale; pure, so that no rule of a sale loads a security module.
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';

export type PinData = {
  ksn: string;
  pinblock: string;
  pinblockFormat: 'ISO0' | 'ISO1' | 'ISO3' | 'ISO4';
};

const pinMembers = ['ksn', 'pinblock', 'pinblockFormat'] as const;

/**
 * The form of the PIN members.
 *
 * @throws Refusal pin_data_incomplete, pin_format_unsupported, entry_mode_invalid
 */
export function validatePinMembers(request: ProcessRequest): void {
  const missing = pinMembers.filter((name) => request[name] === undefined);
  if (missing.length === pinMembers.length) return;
  if (missing.length > 0) {
    refuse('pin_data_incomplete', 'ksn, pinblock and pinblockFormat must be sent together.', {
      errors: missing.map((name) => ({
        pointer: `/${name}`,
        code: 'pin_data_incomplete',
        detail: 'Is needed beside the others.',
      })),
    });
  }
  if (request.entryMode === 'Keyed') {
    refuse(
      'entry_mode_invalid',
      'A PIN is not allowed with entryMode Keyed.',
      fieldError('/entryMode', 'entry_mode_invalid', 'Not Keyed, with a PIN.'),
    );
  }
  // Format 4 is encrypted with AES, the others with TDES, whose keys AES DUKPT derives too (ANSI X9.24-3).
  const { ksn, pinblock, pinblockFormat } = request as PinData;
  const isFormat4 = pinblockFormat === 'ISO4';
  if ((isFormat4 && ksn.length !== 24) || (pinblock.length === 32) !== isFormat4) {
    const detail = 'ISO4 goes with AES DUKPT and 32 digits, the others with 16 digits.';
    refuse(
      'pin_format_unsupported',
      detail,
      fieldError('/pinblockFormat', 'pin_format_unsupported', 'Does not fit ksn and pinblock.'),
    );
  }
}
