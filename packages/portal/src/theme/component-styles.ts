/** The styles of all of Mantine's parts, fetched beside the first screen. */
import '@mantine/core/styles.layer.css';
