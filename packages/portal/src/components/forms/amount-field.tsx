/** A field for an amount, in the decimals of its currency and the signs of the user's country. */
import { TextInput } from '@mantine/core';
import { useFormats } from '../../session/use-session.ts';
import { parseAmount } from './amount-text.ts';

export function MoneyField({
  label,
  description,
  text,
  currency,
  error,
  isFirst = false,
  onChange,
}: {
  readonly label: string;
  readonly description?: string;
  readonly text: string;
  readonly currency: string;
  /** What is wrong with it; false where nothing is. */
  readonly error?: string | false | undefined;
  readonly isFirst?: boolean;
  /** The text as it is typed, and the amount where it is one. */
  readonly onChange: (text: string, amount: number | undefined) => void;
}) {
  const { locale } = useFormats();
  return (
    <TextInput
      label={label}
      description={description}
      inputMode="decimal"
      autoComplete="off"
      maxLength={20}
      value={text}
      error={error}
      rightSection={<span className="sy-currency">{currency}</span>}
      rightSectionWidth={52}
      data-autofocus={isFirst}
      onChange={({ currentTarget: { value } }) =>
        onChange(value, parseAmount(value, currency, locale))
      }
    />
  );
}
