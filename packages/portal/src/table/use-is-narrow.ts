/** True where a row of a table is shown as a card. */
import { useMediaQuery } from '@mantine/hooks';

export function useIsNarrow(): boolean {
  return useMediaQuery('(max-width: 48rem)', false, { getInitialValueInEffect: false });
}
