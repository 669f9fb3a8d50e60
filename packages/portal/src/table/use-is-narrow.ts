/** True if table rows are displayed as cards. */
import { useMediaQuery } from '@mantine/hooks';

export function useIsNarrow(): boolean {
  return useMediaQuery('(max-width: 48rem)', false, { getInitialValueInEffect: false });
}
